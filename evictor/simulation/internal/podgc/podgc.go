// Package podgc plays the pod garbage collector: every 20 seconds it takes away the objects of pods that no kubelet will end,
// because their node is out of service, or has been gone for a while.
package podgc

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

const (
	period     = 20 * time.Second // of passes, from time 0 on
	quarantine = 40 * time.Second // how long a node is missed before its pods are removed
	never      = time.Duration(math.MaxInt64)
)

// Cluster is what the collector sees of a cluster, and what it does there.
type Cluster interface {
	// Garbage says whether a node has the out-of-service taint or is missed: only then is there something to find.
	Garbage() bool
	// OutOfService names the nodes that have the out-of-service taint and are not Ready.
	OutOfService() []string
	// Missed names the nodes that do not exist, and to which pods are bound.
	Missed() []string
	// Pods are those that are bound to a node of that name, in order, and Terminating says whether one is deleted.
	Pods(node string) []evictor.PodKey
	Terminating(pod evictor.PodKey) bool

	// Remove takes the object of a pod away at once.
	Remove(pod evictor.PodKey, why string)
}

// Collector is the pod garbage collector.
type Collector struct {
	of          Cluster
	quarantined map[string]time.Duration // nodes that are missed, and until when
}

// New returns the collector of a cluster.
func New(of Cluster) *Collector { return &Collector{of, make(map[string]time.Duration)} }

// Next returns when the collector next has a reason to pass, now being the time since the start.
func (c *Collector) Next(now time.Duration) time.Duration {
	if len(c.quarantined) == 0 && !c.of.Garbage() {
		return never
	}
	return now - now%period + period
}

// Step makes the pass of that time, if it is the time of one.
func (c *Collector) Step(now time.Duration) {
	if now%period != 0 {
		return
	}
	of := c.of
	for _, node := range of.OutOfService() {
		for _, pod := range of.Pods(node) {
			if of.Terminating(pod) {
				of.Remove(pod, "the node is out of service")
			}
		}
	}
	for _, node := range c.due(of.Missed(), now) {
		for _, pod := range of.Pods(node) {
			of.Remove(pod, "the node no longer exists")
		}
	}
}

// due returns those of the missed nodes, in order, that have been missed for long enough, and notes until when the others are.
// What is missed is a name: a node that has come and gone meanwhile makes no difference.
func (c *Collector) due(missed []string, now time.Duration) (nodes []string) {
	ended := make(map[string]bool)
	maps.DeleteFunc(c.quarantined, func(node string, end time.Duration) bool {
		ended[node] = end <= now
		return end <= now
	})
	for _, node := range missed {
		if ended[node] {
			nodes = append(nodes, node)
		}
		if _, known := c.quarantined[node]; !known {
			c.quarantined[node] = now + quarantine
		}
	}
	slices.Sort(nodes)
	return nodes
}
