package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// world is a cluster whose writes change the maps.
type world struct {
	bare
	fail  func(node string) error // of a write of taints, after it was done
	to    *evictor.Evictor
	clock *testingclock.FakePassiveClock
}

var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(nodes int) *world {
	w := &world{bare: bare{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}}, clock: testingclock.NewFakePassiveClock(begin)}
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), UID: "u", CreationTimestamp: metav1.NewTime(begin.Add(-time.Hour))}}
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		w.nodes[n.Name] = n
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("p", i), UID: "u"}, Spec: v1.PodSpec{NodeName: n.Name}}
		w.pods[evictor.PodKey{Namespace: "default", Name: p.Name}] = p
	}
	return w
}

func (w *world) change(node *v1.Node, change func(*v1.Node)) error {
	after := w.nodes[node.Name].DeepCopy()
	change(after)
	w.nodes[node.Name] = after
	w.to.NodeChanged(node.Name)
	return nil
}

func (w *world) UpdateConditions(_ context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	return w.change(node, func(n *v1.Node) { n.Status.Conditions = conditions })
}

func (w *world) UpdateTaints(_ context.Context, node *v1.Node, change taints.Change) error {
	err := w.change(node, func(n *v1.Node) { n.Spec.Taints = change.Apply(n.Spec.Taints, w.clock.Now()) })
	if w.fail != nil {
		err = w.fail(node.Name)
	}
	return err
}

func (w *world) Evict(_ context.Context, pod evictor.PodRef, _ taints.Deadline) error {
	delete(w.pods, pod.PodKey)
	w.to.PodChanged(pod.PodKey)
	return nil
}

// evictor makes one that the world feeds.
func (w *world) evictor(t *testing.T, opts evictor.Options) {
	t.Helper()
	opts.Clock = w.clock
	var err error
	w.to, err = evictor.New(evictor.DefaultConfig(), evictor.Clients{Nodes: w, Pods: w, NodeWriter: w, PodWriter: w}, opts)
	require.NoError(t, err)
}

// play renews the leases of all nodes but those named every ten seconds.
func (w *world) play(t *testing.T, seconds int, silent ...string) {
	t.Helper()
	dead := map[string]bool{}
	for _, name := range silent {
		dead[name] = true
	}
	for s := range seconds {
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		for name := range w.nodes {
			if s%10 == 0 && !dead[name] {
				w.to.LeaseObserved(name, w.clock.Now(), "")
			}
		}
		_, err := w.to.Step(context.Background())
		require.NoError(t, err)
	}
}

func (w *world) tainted() (nodes []string) {
	for name, n := range w.nodes {
		for i := range n.Spec.Taints {
			if taints.OwnNoExecute(&n.Spec.Taints[i]) {
				nodes = append(nodes, name)
			}
		}
	}
	return nodes
}

// A function of Options that panics, or that calls the evictor from where it holds a lock, has failed: the program is told,
// nothing is harmed that it was asked about, and the evictor goes on.
func TestFunctionsThatFail(t *testing.T) {
	fail := func(w *world, call bool) {
		if !call {
			panic("user")
		}
		w.to.Nodes().Node("n0")
	}
	for _, of := range []struct {
		name   string
		opts   func(w *world, call bool) evictor.Options
		harms  bool // it was asked for nothing that harms
		within bool // it is called with a lock held
	}{
		{"Hold", func(w *world, call bool) evictor.Options {
			return evictor.Options{Hold: func(*v1.Node) (string, bool) { fail(w, call); return "", false }}
		}, false, true},
		{"Domain", func(w *world, call bool) evictor.Options {
			return evictor.Options{Domain: func(*v1.Node) zone.Key { fail(w, call); return zone.Key{} }}
		}, false, true},
		{"Excluded", func(w *world, call bool) evictor.Options {
			return evictor.Options{Excluded: func(*v1.Node) bool { fail(w, call); return false }}
		}, false, true},
		{"Policy", func(w *world, call bool) evictor.Options {
			return evictor.Options{Policy: zone.PolicyFunc(func(zone.Situation) zone.Ruling {
				if w.to != nil {
					fail(w, call)
				}
				return zone.Ruling{Rate: 1}
			})}
		}, false, true},
		{"Gate", func(w *world, call bool) evictor.Options {
			return evictor.Options{Gate: gate.Func(func(context.Context, gate.Act) error { fail(w, call); return nil })}
		}, false, false},
		{"Observer", func(w *world, call bool) evictor.Options {
			return evictor.Options{Observer: evictor.Observe(func(evictor.NodeDecision) { fail(w, call) }, nil)}
		}, true, false},
	} {
		for _, call := range []bool{false, true} {
			t.Run(fmt.Sprint(of.name, " calls ", call), func(t *testing.T) {
				told := 0
				w := newWorld(6)
				opts := of.opts(w, call)
				var says diary
				opts.Observer = evictor.Observers{opts.Observer, &says}
				opts.OnPanic = func(any, any, []byte) { told++ }
				w.evictor(t, opts)
				w.play(t, 400, "n0")
				require.Equal(t, !call || of.within, told > 0, "told")
				for _, named := range says.of("FunctionFailed") {
					require.Equal(t, of.name, named.Reason)
				}
				if told > 0 && of.name != "Gate" { // its refusals say so
					require.InDelta(t, 3, len(says.of("FunctionFailed")), 4, "once a minute")
					require.NotEmpty(t, says.of("FunctionFailed"))
				}
				if of.harms || call && !of.within {
					require.Equal(t, []string{"n0"}, w.tainted())
				} else {
					require.Empty(t, w.tainted())
				}
			})
		}
	}
}

// A policy that has failed once is asked again, though no node changes: its zone goes on.
func TestAPolicyThatHasFailedIsAskedAgain(t *testing.T) {
	w, failed := newWorld(6), 0
	w.evictor(t, evictor.Options{OnPanic: func(any, any, []byte) {}, Policy: zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		if s.Counts.Bad > 0 && failed == 0 {
			failed++
			panic("user")
		}
		return zone.Ruling{State: zone.Normal, Rate: 1}
	})})
	w.play(t, 100, "n0")
	require.Equal(t, 1, failed)
	require.Equal(t, []string{"n0"}, w.tainted())
}

// counting is a Gate that lets one node at a time be acted on, by the turns that it grants and the decisions that end them.
type counting struct{ acting map[string]bool }

func (c *counting) May(_ context.Context, act gate.Act) error {
	if act.Do != gate.Turn {
		return nil
	}
	if len(c.acting) > 0 && !c.acting[act.Node] {
		return &gate.Refused{Reason: "OneAtATime"}
	}
	c.acting[act.Node] = true
	return nil
}

func (c *counting) ended(d nodelifecycle.Decision) {
	if d.Kind == nodelifecycle.TurnEnded && d.Reason != "Served" {
		delete(c.acting, d.Node)
	}
}

// A taint whose answer was lost is one: the turn is not over, and the same node sends it again.
func TestALostAnswerKeepsTheTurn(t *testing.T) {
	for _, lost := range []error{context.DeadlineExceeded, errors.New("connection reset by peer")} {
		w := newWorld(8)
		one := &counting{acting: map[string]bool{}}
		w.evictor(t, evictor.Options{Gate: one, Observer: evictor.Observe(one.ended, nil)})
		w.fail = func(string) error { return lost }
		for range 400 {
			w.play(t, 1, "n0", "n1", "n2")
			require.LessOrEqual(t, len(w.tainted()), 1)
		}
		require.Len(t, w.tainted(), 1)
	}
}
