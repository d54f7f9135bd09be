// Command capacity answers: how do I keep a pod where it is while there is no room for it elsewhere, or at hours at
// which nobody may be disturbed?
//
// Options.MayEvict is asked before each eviction. This one has a calendar, which holds back maintenance from one o'clock
// to two, and counts what is free on the other nodes. It is played in virtual time.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// check is the program. On a cluster, nodes and pods come from informers of your own that keep resources.
type check struct {
	nodes evictor.NodeStore
	pods  evictor.PodStore

	mu       sync.Mutex
	promised map[types.UID]promise
}

// promise is room for a pod that was permitted to leave, until its replacement has surely been scheduled.
type promise struct {
	pod   *v1.Pod
	node  string
	until time.Time
}

func (c *check) mayEvict(_ context.Context, pod *v1.Pod, why evictor.Decision) error {
	now := why.Time.UTC()
	if why.Taint != nil && why.Taint.Key == "maintenance" && now.Hour() == 1 {
		return &evictor.Refusal{Reason: "the nightly batch runs", Again: now.Truncate(time.Hour).Add(time.Hour)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.promised, pod.UID) // its try before this one came to nothing
	for node := range c.nodes.Nodes {
		if node.Name != pod.Spec.NodeName && usable(node) && c.fits(pod, node, now) {
			c.promised[pod.UID] = promise{pod, node.Name, now.Add(time.Minute)}
			return nil
		}
	}
	return &evictor.Refusal{Reason: "no room elsewhere"} // asked again after a second, two, …, a minute
}

func usable(node *v1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady && condition.Status == v1.ConditionTrue {
			return !node.Spec.Unschedulable && len(node.Spec.Taints) == 0
		}
	}
	return false
}

// fits says whether the pod has room beside the node's pods and those that were promised room there.
func (c *check) fits(pod *v1.Pod, node *v1.Node, now time.Time) bool {
	free := node.Status.Allocatable.DeepCopy()
	take := func(pod *v1.Pod) {
		for i := range pod.Spec.Containers {
			for name, amount := range pod.Spec.Containers[i].Resources.Requests {
				left := free[name]
				left.Sub(amount)
				free[name] = left
			}
		}
	}
	c.pods.PodsOnNode(node.Name, func(other *v1.Pod) bool { take(other); return true })
	for uid, p := range c.promised {
		switch {
		case now.After(p.until):
			delete(c.promised, uid)
		case p.node == node.Name:
			take(p.pod)
		}
	}
	take(pod)
	for _, left := range free {
		if left.Sign() < 0 {
			return false
		}
	}
	return true
}

func main() {
	if err := play(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

// play plays the scenario and prints which pods left, and which were held back and why.
func play(out io.Writer) error {
	_, err := simulation.Play(context.Background(), scenario(), func(w *simulation.World) (simulation.Controller, error) {
		c := &check{nodes: w.Clients().Nodes, pods: w.Clients().Pods, promised: make(map[types.UID]promise)}
		return w.NewEvictor(evictor.Options{MayEvict: c.mayEvict, Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.EvictionDelayed || d.Kind == evictor.PodEvicted {
				fmt.Fprintln(out, d)
			}
		})})
	})
	return err
}
