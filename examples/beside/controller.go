// Package beside answers: how do I test my own controller beside an evictor that really taints nodes and evicts pods,
// without waiting?
//
// This controller opens an incident for each node that the evictor taints NoExecute, and closes it when the taint has
// been gone for five minutes. Its test plays outages in virtual time.
package beside

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/taints"
)

// Settled is how long a node must be free of taints before the controller closes its incident.
const Settled = 5 * time.Minute

// Incidents is the controller. Like an evictor, it is an evictor.Target, and its Step says when to call it next.
type Incidents struct {
	nodes cluster.NodeStore
	clock clock.PassiveClock

	mu      sync.Mutex
	changed map[string]bool
	open    map[string]time.Time // since when the node is free of taints; zero while it is not
}

// New makes a controller that reads nodes from this store.
func New(nodes cluster.NodeStore, c clock.PassiveClock) *Incidents {
	return &Incidents{nodes: nodes, clock: c, changed: make(map[string]bool), open: make(map[string]time.Time)}
}

// NodeChanged notes that a node may have changed.
func (i *Incidents) NodeChanged(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changed[name] = true
}

// PodChanged does nothing.
func (i *Incidents) PodChanged(evictor.PodKey) {}

// LeaseObserved does nothing.
func (i *Incidents) LeaseObserved(string, time.Time, string) {}

// SetObserverHealth does nothing.
func (i *Incidents) SetObserverHealth(error) {}

// Open returns the nodes with an incident.
func (i *Incidents) Open() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Sorted(maps.Keys(i.open))
}

// Step handles every change and everything due, and returns when something is due next; the zero time means never.
func (i *Incidents) Step(context.Context) (next time.Time, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.clock.Now()
	for name := range i.changed {
		delete(i.changed, name)
		node, ok := i.nodes.Node(name)
		since, open := i.open[name]
		switch {
		case !ok:
			delete(i.open, name)
		case slices.ContainsFunc(node.Spec.Taints, isOurs):
			i.open[name] = time.Time{}
		case open && since.IsZero():
			i.open[name] = now
		}
	}
	for name, since := range i.open {
		if since.IsZero() {
			continue
		}
		if due := since.Add(Settled); !due.After(now) {
			delete(i.open, name)
		} else if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return next, nil
}

func isOurs(t v1.Taint) bool { return taints.OwnNoExecute(&t) }
