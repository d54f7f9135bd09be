package cgroup_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/cgroup"
)

// printer only prints.
type printer struct{}

func (printer) Kill(_ context.Context, eviction nodepressure.Eviction) error {
	fmt.Println("would evict", eviction.Pod.UID, "-", eviction.Message)
	return nil
}

func (printer) CleanedUp(*v1.Pod) bool { return true }

// What would a kubelet do on this machine? The program looks every ten seconds, and at once when the kernel signals,
// until you interrupt it.
func Example() {
	node := cgroup.Node{Dir: "/sys/fs/cgroup", NodeFs: "/"}
	config := nodepressure.DefaultConfig()
	var err error
	if config.Layout, err = node.Layout(); err != nil {
		fmt.Println(err)
		return
	}
	machine, err := nodepressure.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	managing := nodepressure.DefaultManagerConfig()
	managing.OnError = func(err error) { fmt.Println(err) }
	manager, err := nodepressure.NewManager(machine, nodepressure.Clients{StatsProvider: node, Killer: printer{}}, managing)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if notifier, err := cgroup.NewNotifier(node, cgroup.NotifierConfig{}); err != nil {
		fmt.Println(err)
	} else {
		fmt.Println("woken by", notifier)
		go func() { _ = notifier.Run(ctx, manager.Notify) }()
	}
	fmt.Println(manager.Run(ctx))
}
