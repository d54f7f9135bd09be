// Package maintenance spares nodes whose conditions announce maintenance, as KEP-5683 defines them since Kubernetes 1.37:
// MaintenancePlanned, MaintenanceInProgress, DrainInProgress, Drained or GracefulNodeShutdownInProgress is True.
//
//	announced := &maintenance.Announced{For: time.Hour, Nodes: clients.Nodes, Clock: clock.RealClock{}}
//	e, err := evictor.New(config, clients, evictor.Options{Hold: announced.Hold, Excluded: announced.Excluded})
//	…
//	announced.Changed = e.NodeChanged
//	go wait.UntilWithContext(ctx, func(ctx context.Context) { announced.Step(ctx) }, time.Second)
package maintenance

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/zone"
)

// Announced spares a node for a time after it has first seen that maintenance is announced, or until it no longer is. What
// is announced anew later is believed for as long again, and so is each later stage: maintenance that was planned long ago
// begins. Give [Announced.Hold] and
// [Announced.Excluded] to the evictor first, then call [Announced.Step]. Its methods may be called from any goroutine.
type Announced struct {
	// For is how long an announcement is believed. A condition names no end, hence this limit; a restart of the program
	// begins it anew. 0 or less believes none.
	For   time.Duration
	Nodes cluster.NodeStore
	Clock clock.PassiveClock
	// Changed is told by Step of each node whose time is over; the evictor's NodeChanged is meant. Set it before the first Step.
	Changed func(node string)

	mu    sync.Mutex
	nodes map[string]announcement
}

type announcement struct {
	uid   types.UID
	stage int // the latest that was seen
	since time.Time
	over  bool // Changed was told
}

// announcing has the stages in order.
var announcing = []v1.NodeConditionType{"MaintenancePlanned", "MaintenanceInProgress", "DrainInProgress", "Drained", "GracefulNodeShutdownInProgress"}

// Hold is for evictor.Options. The reason is the condition that announces maintenance.
func (a *Announced) Hold(node *v1.Node) (reason string, held bool) {
	stage, some := announces(node)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !some {
		delete(a.nodes, node.Name)
		return "", false
	}
	now := a.Clock.Now()
	is, known := a.nodes[node.Name]
	if !known || is.uid != node.UID || is.stage < stage {
		if a.nodes == nil {
			a.nodes = make(map[string]announcement)
		}
		is = announcement{uid: node.UID, stage: stage, since: now}
		a.nodes[node.Name] = is
	} else if stage < is.stage { // the later one has ended, and may begin again
		is.stage = stage
		a.nodes[node.Name] = is
	}
	if now.Sub(is.since) >= a.For {
		return "", false
	}
	return string(announcing[stage]), true
}

// Excluded is for evictor.Options: a node that is spared counts neither as ready nor as not ready, nor does one that
// zone.Excluded names. A zone becomes smaller by that, and may then be one whose rate is 0 instead of the secondary rate.
func (a *Announced) Excluded(node *v1.Node) bool {
	_, held := a.Hold(node)
	return held || zone.Excluded(node.Labels)
}

// Conditions returns the conditions that announce maintenance.
func Conditions() []v1.NodeConditionType { return slices.Clone(announcing) }

// announces returns the latest stage that a node announces.
func announces(node *v1.Node) (stage int, some bool) {
	stage = -1
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Status == v1.ConditionTrue {
			stage = max(stage, slices.Index(announcing, c.Type))
		}
	}
	return stage, stage >= 0
}

// Step tells Changed of the nodes whose time is over, because nothing else changes them then. It returns when to call it
// again, the zero time for when a node announces something; calling it every second does as well. The error is always nil.
func (a *Announced) Step(context.Context) (next time.Time, err error) {
	now := a.Clock.Now()
	for name, is := range a.known() {
		if _, exists := a.Nodes.Node(name); !exists {
			a.set(name, is, nil)
			continue
		}
		switch ends := is.since.Add(a.For); {
		case is.over:
		case now.Before(ends):
			if next.IsZero() || ends.Before(next) {
				next = ends
			}
		default:
			told := is
			told.over = true
			a.set(name, is, &told)
			a.Changed(name)
		}
	}
	return next, nil
}

func (a *Announced) known() map[string]announcement {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := make(map[string]announcement, len(a.nodes))
	for name, is := range a.nodes {
		known[name] = is
	}
	return known
}

// set replaces what is known of a node, unless that has changed meanwhile.
func (a *Announced) set(name string, was announcement, is *announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.nodes[name] != was:
	case is == nil:
		delete(a.nodes, name)
	default:
		a.nodes[name] = *is
	}
}
