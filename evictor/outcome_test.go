package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// small is a cluster whose store shows what the test puts there: writes are answered by the functions and change nothing.
type small struct {
	clk   *testingclock.FakePassiveClock
	nodes map[string]*v1.Node
	e     *evictor.Evictor
	may   func(act gate.Act) error
	taint func(n *v1.Node, change taints.Change) error
	cond  func(n *v1.Node) error
	heard func(d evictor.NodeDecision)
}

func newSmall(t *testing.T, names ...string) *small {
	s := &small{clk: testingclock.NewFakePassiveClock(evictortest.Epoch), nodes: map[string]*v1.Node{}, may: func(gate.Act) error { return nil }, taint: func(*v1.Node, taints.Change) error { return nil }, cond: func(*v1.Node) error { return nil }, heard: func(evictor.NodeDecision) {}}
	for _, name := range names {
		n := &v1.Node{}
		n.Name, n.UID, n.ResourceVersion = name, types.UID("uid-"+name), "1"
		n.CreationTimestamp = metav1.NewTime(s.clk.Now())
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(s.clk.Now())}}
		s.nodes[name] = n
	}
	cfg := config()
	cfg.Nodes.NodeEvictionRate, cfg.Nodes.SecondaryNodeEvictionRate, cfg.Nodes.LargeClusterSizeThreshold = 1, 1, 0
	e, err := evictor.New(cfg, evictor.Clients{Nodes: s, Pods: s, NodeWriter: s, PodWriter: s}, evictor.Options{
		Clock: s.clk, Observer: evictor.Observe(func(d evictor.NodeDecision) { s.heard(d) }, nil),
		Gate: gate.Func(func(_ context.Context, act gate.Act) error { return s.may(act) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.e = e
	for name := range s.nodes {
		e.NodeChanged(name)
	}
	return s
}

func (s *small) Synced() bool                      { return true }
func (s *small) Node(name string) (*v1.Node, bool) { n, ok := s.nodes[name]; return n, ok }
func (s *small) Nodes(visit func(*v1.Node) bool) {
	for _, n := range s.nodes {
		if !visit(n) {
			return
		}
	}
}
func (s *small) Pod(evictor.PodKey) (*v1.Pod, bool)    { return nil, false }
func (s *small) PodsOnNode(string, func(*v1.Pod) bool) {}
func (s *small) UpdateConditions(_ context.Context, n *v1.Node, _ []v1.NodeCondition) error {
	return s.cond(n)
}
func (s *small) UpdateLabels(context.Context, *v1.Node, map[string]string) error { return nil }
func (s *small) MarkNotReady(context.Context, evictor.PodRef) error              { return nil }
func (s *small) Evict(context.Context, evictor.PodRef, taints.Deadline) error    { return nil }
func (s *small) UpdateTaints(_ context.Context, n *v1.Node, change taints.Change) error {
	return s.taint(n, change)
}

// pass lets time pass; the nodes of alive renew.
func (s *small) pass(t *testing.T, d time.Duration, alive ...string) {
	for range int(d / (500 * time.Millisecond)) {
		s.clk.SetTime(s.clk.Now().Add(500 * time.Millisecond))
		for _, name := range alive {
			s.e.LeaseObserved(name, s.clk.Now(), "")
		}
		if _, err := s.e.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func adds(change taints.Change) bool {
	for i := range change.Add {
		if taints.OwnNoExecute(&change.Add[i]) {
			return true
		}
	}
	return false
}

// evictor/doc.go: "A turn whose write was answered by anything but Conflict, Forbidden, Invalid or NotFound may have been done: it
// stays that node's turn until an answer is certain or the store shows it." A Gate that begins to refuse harm, or writes, between
// the question before the turn and the question before the write (an operator pauses right then) ends the turn as Spent: whoever
// counts turns gives it to another node.
func TestLostAnswerThenRefused(t *testing.T) {
	for _, c := range []struct {
		what    gate.Do
		granted int
	}{{gate.Harm, 1}, {gate.Harm, 2}, {gate.Write, 0}, {gate.Write, 1}, {gate.Write, 2}, {gate.Write, 3}} {
		what, granted := c.what, c.granted
		s := newSmall(t, "a", "b", "well")
		acting := map[string]bool{} // of a gate that lets one node be acted on at a time
		truth := map[string]bool{}  // tainted, as the API server knows and the store does not yet
		lost, asked, began := time.Time{}, 0, time.Time{}
		s.may = func(act gate.Act) error {
			switch now := s.clk.Now(); {
			case act.Do == gate.Turn && len(acting) > 0 && !acting[act.Node]:
				return errors.New("one at a time")
			case act.Do == gate.Turn:
				acting[act.Node] = true
			case act.Do == what && !lost.IsZero() && now.After(lost) && (began.IsZero() || now.Before(began.Add(time.Second))):
				if began.IsZero() && now.Sub(lost) < 5*time.Second { // up to the next pass
					return nil
				}
				if asked++; asked > granted {
					began = now
					return errors.New("not now")
				}
			}
			return nil
		}
		s.heard = func(d evictor.NodeDecision) {
			if d.Kind == nodelifecycle.TurnEnded {
				t.Log(what, granted, s.clk.Now().Sub(evictortest.Epoch), "turn of", d.Node, "ended", d.Reason)
				if d.Reason != "Served" {
					delete(acting, d.Node)
				}
			}
		}
		s.taint = func(n *v1.Node, change taints.Change) error {
			if adds(change) {
				truth[n.Name] = true
				if lost.IsZero() {
					lost = s.clk.Now()
				}
				t.Log(what, granted, s.clk.Now().Sub(evictortest.Epoch), "taint of", n.Name, "is done, and the answer is lost")
				return errors.New("timeout")
			}
			return nil
		}
		s.pass(t, 60*time.Second, "well")
		if len(truth) > 1 {
			t.Errorf("%v %d: %v are tainted, and the gate lets one node be acted on at a time", what, granted, truth)
		}
	}
}

// The same without any gate that changes its mind: the taint is done and its answer is lost, and the store lags by eight seconds.
// What is tried again meets conflicts because the taint was done; after six of them the turn ends as Spent.
func TestLostAnswerThenConflicts(t *testing.T) {
	s := newSmall(t, "a", "b", "well")
	acting := map[string]bool{}
	truth := map[string]bool{}
	var lost time.Time
	s.may = func(act gate.Act) error {
		if act.Do == gate.Turn {
			if len(acting) > 0 && !acting[act.Node] {
				return errors.New("one at a time")
			}
			acting[act.Node] = true
		}
		return nil
	}
	s.heard = func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.TurnEnded {
			t.Log(s.clk.Now().Sub(evictortest.Epoch), "turn of", d.Node, "ended", d.Reason)
			if d.Reason != "Served" {
				delete(acting, d.Node)
			}
			if d.Reason == "Spent" && truth[d.Node] {
				t.Errorf("the turn of %s ended as Spent (\"when nothing could be done\", WHY.md), and its taint is done", d.Node)
			}
		}
	}
	s.taint = func(n *v1.Node, change taints.Change) error {
		if !adds(change) {
			return nil
		}
		if truth[n.Name] {
			return apierrors.NewConflict(v1.Resource("nodes"), n.Name, errors.New("the object has been modified"))
		}
		truth[n.Name] = true
		t.Log(s.clk.Now().Sub(evictortest.Epoch), "taint of", n.Name, "is done")
		if lost.IsZero() {
			lost = s.clk.Now()
			return errors.New("timeout")
		}
		return nil
	}
	for range 40 {
		s.pass(t, 500*time.Millisecond, "well")
	}
	for lost.IsZero() || s.clk.Now().Sub(lost) < 8*time.Second {
		s.pass(t, 500*time.Millisecond, "well")
	}
	if len(truth) > 1 {
		t.Errorf("%v are tainted, and the gate lets one node be acted on at a time", truth)
	}
}

// What nobody knows of a write counts as not done one grace period after its answer, not after the pass in which it began: the
// write takes two seconds of the five between passes.
func TestLostAnswerOfASlowWrite(t *testing.T) {
	s := newSmall(t, "a", "well")
	var answered, ended time.Time
	s.may = func(act gate.Act) error {
		if act.Do == gate.Harm && !answered.IsZero() {
			return errors.New("not now")
		}
		return nil
	}
	s.heard = func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.TurnEnded && ended.IsZero() {
			ended = s.clk.Now()
		}
	}
	s.taint = func(_ *v1.Node, change taints.Change) error {
		if !adds(change) {
			return nil
		}
		s.clk.SetTime(s.clk.Now().Add(2 * time.Second))
		answered = s.clk.Now()
		return errors.New("timeout")
	}
	s.pass(t, 2*time.Minute, "well")
	if grace := config().Nodes.NodeMonitorGracePeriod; ended.Sub(answered) < grace {
		t.Errorf("the turn ended %v after the answer was lost, and the grace period is %v", ended.Sub(answered), grace)
	}
}

// The answer about the taint is lost. The next try writes the conditions first, and the answer about these is certain: the turn
// ends as Spent, although nothing is known of the taint.
func TestLostAnswerThenForbiddenConditions(t *testing.T) {
	s := newSmall(t, "a", "well")
	done := false
	s.heard = func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.TurnEnded {
			t.Log(s.clk.Now().Sub(evictortest.Epoch), "turn of", d.Node, "ended", d.Reason)
			if d.Reason == "Spent" && done {
				t.Errorf("the turn of %s ended as Spent, and its taint is done", d.Node)
			}
		}
	}
	s.taint = func(n *v1.Node, change taints.Change) error {
		if adds(change) {
			done = true
			t.Log(s.clk.Now().Sub(evictortest.Epoch), "taint of", n.Name, "is done, and the answer is lost")
			return errors.New("timeout")
		}
		return nil
	}
	s.cond = func(n *v1.Node) error {
		if done {
			return apierrors.NewForbidden(v1.Resource("nodes/status"), n.Name, errors.New("no"))
		}
		return nil
	}
	s.pass(t, 60*time.Second, "well")
}
