// Command controller replaces the node-lifecycle and taint-eviction controllers of kube-controller-manager: it marks silent
// nodes Unknown, taints them, and evicts pods as their tolerations end.
//
//	go run -C examples ./controller --kubeconfig FILE
//
// Turn the two off in kube-controller-manager: --controllers=*,-node-lifecycle-controller,-taint-eviction-controller
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "controller:", oneLine(err))
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}
