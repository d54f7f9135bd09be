// Command nodeagent answers: a node runs short of memory, disk or process IDs; which pod goes first, and why?
//
// Without flags it answers for a recorded node. With --node it acts for a real one:
//
//	nodeagent --node worker-1 --kubelet https://127.0.0.1:10250 --kubelet-ca ca.crt --kubelet-token token --act
//
// It asks the node's kubelet every ten seconds what it measures, and joins that with the pods that an informer has. The
// figures are seconds old when they arrive: the kubelet measures memory about every ten seconds, and volumes about once a
// minute. After an eviction it waits for figures that were measured later. Something that grows by gigabytes a second is
// faster than this program.
//
// With --act it writes Failed, Evicted, a message and DisruptionTarget into the status of the pod that must go, as a
// kubelet does, and then deletes exactly that pod. Without --act it only says which.
//
// It writes the conditions of the node under a type of its own, nodeagent.example.com/MemoryPressure. The kubelet writes
// MemoryPressure itself, as False if its own thresholds are off, and two programs that write one condition fight. Only
// with --kubelet-conditions, for nodes whose agent does not write them, are they written under the kubelet's types, for
// which kube-controller-manager taints the node.
//
// It needs permission to get, list, watch and delete pods, to update pods/status, to get nodes, to patch nodes/status, to
// create events, and to get nodes/stats or, without --kubelet, nodes/proxy.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/evictor/nodepressure/summary"
)

// What a kubelet and an API server said of one node.
var (
	//go:embed recorded/summary.json
	recordedSummary []byte
	//go:embed recorded/pods.json
	recordedPods []byte
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "nodeagent:", err)
		os.Exit(1)
	}
}

// flags are what the program is called with.
type flags struct {
	node, kubeconfig       string
	kubelet, ca, cert, key string
	token                  string
	config                 string
	layout                 nodepressure.Layout
	act, kubelets          bool
}

func command(ctx context.Context, args []string, out io.Writer) error {
	var f flags
	set := flag.NewFlagSet("nodeagent", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.node, "node", "", "the `NAME` of the node to act for; without it, a recorded node is played")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` that says how to reach the cluster; by default the pod's own")
	set.StringVar(&f.kubelet, "kubelet", "", "the `URL` of the node's kubelet, such as https://127.0.0.1:10250; by default it is asked through the API server")
	set.StringVar(&f.ca, "kubelet-ca", "", "`FILE` with the authority that signed the kubelet's certificate")
	set.StringVar(&f.cert, "kubelet-cert", "", "`FILE` with a certificate that the kubelet accepts")
	set.StringVar(&f.key, "kubelet-key", "", "`FILE` with the key of that certificate")
	set.StringVar(&f.token, "kubelet-token", "", "`FILE` with a token that the kubelet accepts, read anew when it changes")
	set.StringVar(&f.config, "kubelet-config", "", "take the thresholds from this kubelet configuration `FILE`; by default they are a kubelet's")
	set.TextVar(&f.layout, "layout", nodepressure.SingleFs, "the node's file systems: SingleFs, DedicatedImageFs or SplitImageFs")
	set.BoolVar(&f.act, "act", false, "evict, and write conditions; without it the program only says what it would do")
	set.BoolVar(&f.kubelets, "kubelet-conditions", false, "write the conditions under the kubelet's types: only if nothing else on the node does")
	if err := set.Parse(args); err != nil {
		return err
	}
	machine, err := f.machine()
	if err != nil {
		return err
	}
	if f.node == "" {
		return play(machine, out)
	}
	a, err := connect(f, out)
	if err != nil {
		return err
	}
	return a.run(ctx, machine)
}

// machine returns one with the thresholds of the kubelet's file, or those of a kubelet without settings.
func (f flags) machine() (*nodepressure.Machine, error) {
	var file []byte
	if f.config != "" {
		var err error
		if file, err = os.ReadFile(f.config); err != nil {
			return nil, err
		}
	}
	settings, err := nodepressure.ParseSettings(file)
	if err != nil {
		return nil, fmt.Errorf("--kubelet-config: %w", err)
	}
	config, err := settings.Config()
	if err != nil {
		return nil, fmt.Errorf("--kubelet-config: %w", err)
	}
	config.Layout = f.layout
	return nodepressure.New(config)
}

// play shows what the machine decides for the recorded node.
func play(machine *nodepressure.Machine, out io.Writer) error {
	var list v1.PodList
	if err := json.Unmarshal(recordedPods, &list); err != nil {
		return err
	}
	pods := make([]*v1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	joined, err := summary.Join(recordedSummary, pods)
	if err != nil {
		return err
	}
	decision := machine.Observe(joined.Stats)
	fmt.Fprintf(out, "node %s, as recorded\n%s\nconditions %v\n", joined.Node, decision.Why(), decision.Conditions)
	for i := range decision.Ranked {
		c := &decision.Ranked[i]
		fmt.Fprintf(out, "%d. %s/%s: %s, %s, priority %d, uses %d MiB, requests %d MiB\n", i+1, c.Pod.Namespace, c.Pod.Name, c.Protection, c.QOS, c.Priority, c.Used>>20, c.Requested>>20)
	}
	for _, ref := range joined.Unknown {
		fmt.Fprintf(out, "-  %s/%s: the API does not have it, so its protection is not known\n", ref.Namespace, ref.Name)
	}
	for _, pod := range joined.Unmeasured {
		fmt.Fprintf(out, "-  %s/%s: the kubelet does not measure it\n", pod.Namespace, pod.Name)
	}
	return nil
}
