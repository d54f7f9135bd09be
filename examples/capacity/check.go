// Package capacity answers: how do I keep a pod where it is while there is no room elsewhere, or at hours when
// nobody may be disturbed?
//
// The evictor asks its Gate before each eviction. This one forbids evictions from one o'clock to two, and counts what is
// free on the other nodes. Its test plays a night in virtual time. To begin with 40 lines, copy the two Gates of the Example.
package capacity

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
)

// Check is a Gate that says whether a pod may be evicted now. Under Run, several goroutines ask it.
type Check struct {
	nodes cluster.NodeStore
	pods  cluster.PodStore
	clock clock.PassiveClock

	mu       sync.Mutex
	promised map[types.UID]promise
}

// New makes a Check that reads these stores. They must show resources, so on a cluster make them from your own
// informers: package clientgo keeps no resources.
func New(nodes cluster.NodeStore, pods cluster.PodStore, clock clock.PassiveClock) *Check {
	return &Check{nodes: nodes, pods: pods, clock: clock, promised: make(map[types.UID]promise)}
}

// promise reserves room for a pod that may leave, until its replacement has surely been scheduled.
type promise struct {
	pod   *v1.Pod
	node  string
	until time.Time
}

// May is asked before each act, and answers for evictions.
func (c *Check) May(_ context.Context, act gate.Act) error {
	if act.Do != gate.Evict {
		return nil
	}
	pod, now := act.Pod, c.clock.Now().UTC()
	if act.Why.Taint != nil && act.Why.Taint.Key == "maintenance" && now.Hour() == 1 {
		return &gate.Refused{Reason: "the nightly batch runs", Again: now.Truncate(time.Hour).Add(time.Hour)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.promised, pod.UID)                          // an earlier try came to nothing
	for _, node := range slices.Collect(c.nodes.Nodes) { // a store may lock itself during a visit
		if node.Name != pod.Spec.NodeName && usable(node) && c.fits(pod, node, now) {
			c.promised[pod.UID] = promise{pod, node.Name, now.Add(time.Minute)}
			return nil
		}
	}
	return &gate.Refused{Reason: "no room elsewhere"} // asked again after a second, two, …, a minute
}

func usable(node *v1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady && condition.Status == v1.ConditionTrue {
			return !node.Spec.Unschedulable && len(node.Spec.Taints) == 0
		}
	}
	return false
}

// fits says whether the node has room for the pod beside its own pods and those that were promised room there.
func (c *Check) fits(pod *v1.Pod, node *v1.Node, now time.Time) bool {
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
