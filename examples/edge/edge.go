// Package edge answers: how does an edge platform keep pods on a site that is cut off, and on nodes that may live on their
// own for a time, even when its controller restarts meanwhile?
//
// Sites are failure domains. If a whole site is silent, its link is down rather than its nodes, so its pods stay. They stay
// too if the site has a single node, because nobody can tell which of the two it is. When the site is back, its nodes have a
// while to report, one after the other. The label Autonomy says for how long a node is spared once it is Unknown; only
// taints of others still evict its pods. New pods go to other nodes meanwhile: a silent node is Unknown and has its
// NoSchedule taint, whoever spares it. All this is read from the nodes, so a restart loses nothing. The test restarts
// the controller in the middle of outages, in virtual time.
package edge

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// Labels of a node: its site, and for how long it may live on its own, such as 1h30m. Package clientgo keeps labels;
// annotations it keeps only if Keep names them.
const (
	Site     = "example.com/site"
	Autonomy = "example.com/autonomy"
)

// Sites decides about sites, and about nodes that live on their own.
type Sites struct {
	Nodes cluster.NodeStore
	Clock clock.PassiveClock
	last  time.Time // of Step
}

// Options are for evictor.New. The program may set others, and add its own Gate by gate.All.
func (s *Sites) Options() evictor.Options {
	return evictor.Options{
		Domain: func(node *v1.Node) zone.Key { return zone.Key{Zone: node.Labels[Site]} },
		Gate:   gate.Func(s.may),
		Hold: func(node *v1.Node) (reason string, held bool) {
			// A Ready node is held too. So the order of events does not matter once it falls silent.
			ends, ending, held := autonomy(node)
			return "Autonomy", held && (!ending || s.Clock.Now().Before(ends))
		},
	}
}

// back is how long all nodes of a site may take to report once its link is up.
const back = 2 * time.Minute

// may forbids harm at a site unless one of its nodes has been Ready for a while. So the evictions of nodes that fell silent
// before the last one wait too, and are cancelled when their nodes are back.
func (s *Sites) may(_ context.Context, act gate.Act) error {
	now, may := s.Clock.Now(), act.Do != gate.Harm
	s.Nodes.Nodes(func(node *v1.Node) bool {
		c := ready(node)
		may = may || node.Labels[Site] == act.Domain.Zone && c.Status == v1.ConditionTrue && c.LastTransitionTime.Add(back).Before(now)
		return !may
	})
	if may {
		return nil
	}
	return &gate.Refused{Reason: "the site is cut off, or was a moment ago", Again: now.Add(10 * time.Second)}
}

func ready(node *v1.Node) (ready v1.NodeCondition) {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == v1.NodeReady {
			ready = node.Status.Conditions[i]
		}
	}
	return ready
}

// autonomy says whether a node may live on its own and, while it is not Ready, until when.
func autonomy(node *v1.Node) (ends time.Time, ending, some bool) {
	whole, err := time.ParseDuration(node.Labels[Autonomy])
	if err != nil {
		return ends, false, false
	}
	if c := ready(node); c.Type != "" && c.Status != v1.ConditionTrue {
		return c.LastTransitionTime.Add(whole), true, true
	}
	return ends, false, true
}

// Step has the evictor read each node again whose time has just ended, because nothing else changes the node then. changed
// is the evictor's NodeChanged. Step returns when to call it again: soon, because a node may become Unknown at any time.
func (s *Sites) Step(changed func(node string)) (next time.Time) {
	now := s.Clock.Now()
	next = now.Add(time.Minute)
	s.Nodes.Nodes(func(node *v1.Node) bool {
		switch ends, ending, _ := autonomy(node); {
		case !ending:
		case ends.After(now):
			next = earlier(next, ends)
		case ends.After(s.last):
			changed(node.Name)
		}
		return true
	})
	s.last = now
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
