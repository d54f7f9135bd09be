package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// guarded is a small with a Guard.
func guarded(t *testing.T, period time.Duration, bounds []budget.Bound, names ...string) (*small, *budget.Budget[string, guard.Member]) {
	s := newSmall(t, names...)
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.NodeEvictionRate, cfg.Nodes.SecondaryNodeEvictionRate, cfg.Nodes.LargeClusterSizeThreshold = period, 1, 1, 0
	b, err := budget.New(budget.Config[string, guard.Member]{Clock: s.clk, Bounds: bounds})
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(b, cfg.Nodes, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.e, err = evictor.New(cfg, evictor.Clients{Nodes: s, Pods: s, NodeWriter: s, PodWriter: s}, g.On(evictor.Options{
		Clock: s.clk, Observer: evictor.Observe(func(d evictor.NodeDecision) { s.heard(d) }, nil),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for name := range s.nodes {
		s.e.NodeChanged(name)
	}
	return s, b
}

// guard/doc.go: "If nobody knows whether a write of it was done, the reservation stays until the store shows the taint, or for a
// grace period; after that the act counts as begun, and is over." In exact mode nothing ends it while nothing else changes, because
// the guard ends it at a monitor pass, and none is made.
func TestGuardExactKeepsReservation(t *testing.T) {
	for _, period := range []time.Duration{5 * time.Second, 0} {
		s, b := guarded(t, period, []budget.Bound{{Name: "acting", Of: budget.Acting, Max: budget.Count(1)}}, "a", "b", "well")
		lost, passes := false, 0
		s.taint = func(n *v1.Node, change taints.Change) error {
			if adds(change) {
				lost = true
				return errors.New("timeout") // and it was not done
			}
			return nil
		}
		s.heard = func(d evictor.NodeDecision) {
			if d.Kind == nodelifecycle.Passed {
				passes++
			}
		}
		for !lost {
			s.pass(t, 500*time.Millisecond, "b", "well")
		}
		s.pass(t, 30*time.Minute, "a", "b", "well") // it renews again
		status, _ := b.Status("acting", "")
		t.Logf("period %s: %d passes; half an hour after the lost answer the budget counts %d", period, passes, status.Used)
		if status.Used != 0 {
			_, err := b.As("repairs").Reserve("b")
			t.Errorf("period %s: the reservation stays for ever; another program that shares the budget is told: %v", period, err)
		}
	}
}

// In exact mode passes are rare, and the guard takes a time without one for a time in which the process did not run: it then
// supposes that another process has evicted pods, and judges a false alarm. guard/doc.go: "One that is ready later, or before any pod
// has left, is Inconclusive".
func TestGuardExactJudgesFailed(t *testing.T) {
	for _, period := range []time.Duration{5 * time.Second, 0} {
		s, b := guarded(t, period, []budget.Bound{{Name: "trial", Of: budget.Unproven, Max: budget.Count(4), Within: time.Hour, Unjudged: budget.Proved, Cooldown: time.Minute, MaxCooldown: time.Hour, Quiet: 6 * time.Hour}}, "a", "b", "c", "well")
		s.taint = func(n *v1.Node, change taints.Change) error {
			c := n.DeepCopy()
			c.Spec.Taints = change.Apply(n.Spec.Taints, s.clk.Now())
			c.ResourceVersion += "0"
			s.nodes[n.Name] = c
			s.e.NodeChanged(n.Name)
			if adds(change) {
				t.Log(period, s.clk.Now().Sub(evictortest.Epoch), n.Name, "tainted")
			}
			return nil
		}
		for len(s.nodes["a"].Spec.Taints) < 2 {
			s.pass(t, 500*time.Millisecond, "b", "c", "well")
		}
		s.pass(t, 100*time.Second, "b", "c", "well") // no pod is on a
		x := s.nodes["c"].DeepCopy()
		x.ResourceVersion += "0"
		x.Status.Conditions[0].Status = v1.ConditionFalse // something else changes: there is a pass
		s.nodes["c"] = x
		s.e.NodeChanged("c")
		s.pass(t, 20*time.Second, "b", "c", "well")
		s.pass(t, 20*time.Second, "a", "b", "c", "well") // a is well again, two minutes after its taint
		_, err := b.As("other").Reserve("b")
		var no *budget.Refusal
		if errors.As(err, &no) && no.Failures > 0 {
			t.Errorf("period %s: a trial remembers %d failures: %v", period, no.Failures, err)
		}
		t.Log(period, err)
	}
}

// guard/doc.go: "A reservation becomes an act when the node's taint is written, and the act ends when the node no longer has the
// taint." The taint is written, with a certain answer; before the watch shows it, the process is suspended for 45 seconds. At its next
// Step the guard has forgotten the act, and the next node is tainted.
func TestGuardForgetsInASuspension(t *testing.T) {
	s, _ := guarded(t, 5*time.Second, []budget.Bound{{Name: "acting", Of: budget.Acting, Max: budget.Count(1)}}, "a", "b", "well")
	tainted := map[string]bool{}
	s.taint = func(n *v1.Node, change taints.Change) error {
		if adds(change) {
			tainted[n.Name] = true
			t.Log(s.clk.Now().Sub(evictortest.Epoch), n.Name, "tainted")
		}
		return nil // and the store shows it later
	}
	for len(tainted) == 0 {
		s.pass(t, 500*time.Millisecond, "well")
	}
	s.clk.SetTime(s.clk.Now().Add(45 * time.Second))
	s.pass(t, 6*time.Second, "well")
	if len(tainted) > 1 {
		t.Errorf("%v are tainted, of 1", tainted)
	}
}

// A turn in which nothing was sent ends, so that a bound of one serves the next node.
func TestTurnEndsWhenNothingWasSent(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
	one, err := budget.New(budget.Config[string, guard.Member]{
		Dimensions: map[string]func(guard.Member) (string, bool){"all": func(guard.Member) (string, bool) { return "all", true }},
		Bad:        func(m guard.Member) bool { return !m.Ready },
		Bounds:     []budget.Bound{{Name: "one at a time", Per: "all", Of: budget.Acting, Max: budget.Count(1)}}, Clock: c.Clock(),
	})
	require.NoError(t, err)
	config := evictor.DefaultConfig()
	g, err := guard.New(one, config.Nodes, guard.Options{})
	require.NoError(t, err)
	c.Start(config, g.On(evictor.Options{Clock: c.Clock()}))
	c.FailWrites(func(write, object string) error {
		if write == "conditions" && object == "a-0" {
			return errors.New("boom")
		}
		return nil
	})
	c.Fail("a-0", "a-1")
	c.Advance(time.Hour)
	assert.True(t, c.HasNoExecute("a-1"))
}
