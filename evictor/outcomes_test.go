package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// outcome is what a try of a taint meets.
type outcome struct {
	name    string
	refuses gate.Do // the Gate, right before the write; empty for none
	done    bool    // it was written
	err     error
	unknown bool // the answer does not say whether it was
}

var nodesResource = v1.Resource("nodes")

var outcomes = []outcome{
	{name: "done", done: true},
	{name: "held", refuses: gate.Harm},
	{name: "not leading", refuses: gate.Write},
	{name: "refused", err: &gate.Refused{Reason: "later"}},
	{name: "404", err: apierrors.NewNotFound(nodesResource, "a")},
	{name: "409", err: apierrors.NewConflict(nodesResource, "a", errors.New("modified"))},
	{name: "403", err: apierrors.NewForbidden(nodesResource, "a", errors.New("no"))},
	{name: "422", err: apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Node").GroupKind(), "a", nil)},
	{name: "429", err: apierrors.NewTooManyRequests("slow down", 1)},
	{name: "500, done", done: true, err: apierrors.NewInternalError(errors.New("etcd")), unknown: true},
	{name: "500, not done", err: apierrors.NewInternalError(errors.New("etcd")), unknown: true},
	{name: "timeout", err: errors.New("context deadline exceeded"), unknown: true},
	{name: "panic", err: errors.New("panic"), unknown: true},
}

// A Gate that lets one node be acted on at a time never lets two, whatever two tries in a row meet; nor does a turn end as Spent
// or Dropped while what it has written is there or may be. A turn of which nothing was sent is asked about again.
func TestTwoTriesOfATaint(t *testing.T) {
	for _, first := range outcomes {
		for _, second := range outcomes {
			t.Run(first.name+", "+second.name, func(t *testing.T) { playTaints(t, first, second) })
		}
	}
}

func playTaints(t *testing.T, tries ...outcome) {
	s := newSmall(t, "a", "b", "well")
	acting, tainted := map[string]bool{}, map[string]bool{}
	lost := map[string]time.Time{}
	asked := 0
	tried := 0
	var now outcome
	s.may = func(act gate.Act) error {
		if act.Do == gate.Turn {
			asked++
			if len(acting) > 0 && !acting[act.Node] {
				return errors.New("one at a time")
			}
			acting[act.Node] = true
			return nil
		}
		if len(acting) > 0 && tried < len(tries) && act.Do == tries[tried].refuses {
			tried++
			return &gate.Refused{Reason: "not now"}
		}
		return nil
	}
	s.heard = func(d evictor.NodeDecision) {
		if d.Kind != nodelifecycle.TurnEnded {
			return
		}
		if d.Reason != "Served" {
			require.False(t, tainted[d.Node], "its taint is there, and its turn ended as %s", d.Reason)
			require.True(t, lost[d.Node].IsZero() || s.clk.Now().Sub(lost[d.Node]) >= 40*time.Second, "nobody knows, and its turn ended as %s", d.Reason)
			delete(acting, d.Node)
		}
	}
	s.taint = func(n *v1.Node, change taints.Change) error {
		if !adds(change) {
			return nil
		}
		now = outcome{done: true}
		if tried < len(tries) {
			now = tries[tried]
			tried++
		}
		if now.done {
			tainted[n.Name] = true
		}
		if now.unknown {
			lost[n.Name] = s.clk.Now()
		} else if now.err == nil {
			delete(lost, n.Name)
		}
		if now.name == "panic" {
			panic(now.err)
		}
		return now.err
	}
	s.pass(t, 90*time.Second, "well")
	require.Len(t, tainted, 1, fmt.Sprint(tainted))
	if tries[0].name != "done" {
		require.Equal(t, len(tries), tried)
	}
	for _, try := range tries {
		if try.refuses != "" && lost["a"].IsZero() && lost["b"].IsZero() {
			require.Greater(t, asked, 1, "nothing was sent, so the Gate is asked again")
		}
	}
}

// The same of deletions, without taints.
func TestTwoTriesOfADeletion(t *testing.T) {
	for _, first := range outcomes {
		for _, second := range outcomes {
			t.Run(first.name+", "+second.name, func(t *testing.T) { playDeletions(t, first, second) })
		}
	}
}

// deleting answers deletions.
type deleting struct {
	nodelifecycle.PodWriter
	evict func(ref evictor.PodRef, do func() error) error
}

func (d deleting) Evict(ctx context.Context, ref evictor.PodRef, why taints.Deadline) error {
	return d.evict(ref, func() error { return d.PodWriter.Evict(ctx, ref, why) })
}

func playDeletions(t *testing.T, tries ...outcome) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
	acting, deleted, lost := map[string]bool{}, map[string]bool{}, map[string]time.Time{}
	tried := 0
	clients := c.Clients()
	clients.PodWriter = deleting{clients.PodWriter, func(ref evictor.PodRef, do func() error) error {
		now := outcome{done: true}
		if tried < len(tries) {
			now = tries[tried]
			tried++
		}
		if now.done {
			deleted[ref.Node] = true
			require.NoError(t, do())
		}
		if now.unknown {
			lost[ref.Node] = c.Clock().Now()
		} else if now.err == nil {
			delete(lost, ref.Node)
		}
		if now.name == "panic" {
			panic(now.err)
		}
		return now.err
	}}
	cfg := withoutTaints(config(), time.Minute)
	cfg.Nodes.NodeEvictionRate = 1
	e, err := evictor.New(cfg, clients, evictor.Options{
		Clock: c.Clock(), Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Turn {
				if len(acting) > 0 && !acting[act.Node] {
					return errors.New("one at a time")
				}
				acting[act.Node] = true
				return nil
			}
			if len(acting) > 0 && tried < len(tries) && act.Do == tries[tried].refuses {
				tried++
				return &gate.Refused{Reason: "not now"}
			}
			return nil
		}),
		Observer: evictor.Observe(func(d evictor.NodeDecision) {
			if d.Kind == nodelifecycle.TurnEnded && d.Reason != "Served" {
				require.False(t, deleted[d.Node], "its pod was deleted, and its turn ended as %s", d.Reason)
				require.True(t, lost[d.Node].IsZero() || c.Clock().Now().Sub(lost[d.Node]) >= 40*time.Second, "nobody knows, and its turn ended as %s", d.Reason)
				delete(acting, d.Node)
			}
		}, nil),
	})
	require.NoError(t, err)
	c.Drive(e.Step)
	c.Fail("a-0", "a-1")
	c.Advance(4 * time.Minute)
	if tries[0].name != "404" || tries[1].name != "404" { // else both pods are said to be gone
		require.Len(t, deleted, 1)
	}
	if tries[0].name != "done" && tries[0].name != "500, done" && tries[0].name != "404" {
		require.Equal(t, len(tries), tried)
	}
}
