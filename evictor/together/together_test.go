package together_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/evictor/together"
)

// groupOf makes the first pods of these nodes a group.
func groupOf(nodes ...string) func(*v1.Pod) []cluster.PodKey {
	return func(pod *v1.Pod) (keys []cluster.PodKey) {
		for _, node := range nodes {
			keys = append(keys, cluster.PodKey{Namespace: "default", Name: node + "-p0"})
		}
		if !slices.Contains(keys, cluster.RefOf(pod).PodKey) {
			return nil
		}
		return keys
	}
}

// life is a cluster in which one process after the other evicts the group a-0-p0, a-1-p0 and b-0-p0.
type life struct {
	*evictortest.Cluster
	cfg    evictor.Config
	group  func(*v1.Pod) []cluster.PodKey
	refuse func(act gate.Act) error
	check  func(pod cluster.PodRef) error

	processes int // the last one leads, unless
	idle      bool
	e         *evictor.Evictor // of that process
	why       *explain.Ring
	gone      []string // "at pod", with the pod that it goes with
	waits     []string
}

func newLife(t *testing.T, cfg evictor.Config) *life {
	return &life{
		Cluster: evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 3), evictortest.PodsPerNode(2)),
		cfg:     cfg, group: groupOf("a-0", "a-1", "b-0"),
		refuse: func(gate.Act) error { return nil }, check: func(cluster.PodRef) error { return nil },
	}
}

// begin starts a process, which leads from now on. Those before it live on and do not.
func (l *life) begin(t *testing.T) {
	t.Helper()
	l.processes++
	number := l.processes
	leads := gate.Leader(func() error {
		if l.processes != number || l.idle {
			return errors.New("another one leads")
		}
		return nil
	})
	asked := gate.All(leads, gate.Func(func(_ context.Context, act gate.Act) error { return l.refuse(act) }))
	l.why = explain.New(1000)
	observer := evictor.Observers{l.why, evictor.Observe(nil, l.observe)}
	clients := l.Clients()
	groups := &together.Writer{
		PodWriter: clients.PodWriter, Nodes: clients.Nodes, Pods: clients.Pods, Group: l.group, Gate: asked, Clock: l.Clock(), Observer: observer.ObservePod,
		Check: func(_ context.Context, pod cluster.PodRef) error { return l.check(pod) },
	}
	clients.PodWriter = groups
	e, err := evictor.New(l.cfg, clients, evictor.Options{Clock: l.Clock(), Gate: asked, Observer: observer})
	require.NoError(t, err)
	groups.Held = func(node string) string {
		status, _ := e.Nodes().Node(node)
		return status.Held
	}
	l.e = e
	l.Drive(e.Step)
	l.Advance(time.Minute)
}

func (l *life) observe(d tainteviction.Decision) {
	switch d.Kind {
	case tainteviction.PodEvicted:
		text := fmt.Sprintf("%s %s", d.Time.Sub(evictortest.Epoch), d.Pod.Name)
		if d.Err != nil {
			text += " " + d.Err.Error()
		}
		l.gone = append(l.gone, text)
	case tainteviction.EvictionDelayed:
		l.waits = append(l.waits, fmt.Sprintf("%s %s: %s", d.Pod.Name, d.Reason, d.Err))
	}
}

// of returns who of the group was evicted, in order.
func (l *life) of() (group []string) {
	return slices.DeleteFunc(l.Evicted(), func(pod string) bool { return !strings.HasSuffix(pod, "-p0") })
}

// harmed plays each way in which a pod has to leave a node.
func harmed(t *testing.T, play func(t *testing.T, l *life, harm func(node string))) {
	cfg := evictor.DefaultConfig()
	fail := func(l *life) func(string) { return func(node string) { l.Fail(node) } }
	for name, row := range map[string]struct {
		taintBased bool
		harm       func(l *life) func(string)
	}{
		"a taint of somebody else": {true, func(l *life) func(string) {
			return func(node string) { l.Taint(node, v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute}) }
		}},
		"a taint of ours": {true, fail},
		"without taints":  {false, fail},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = row.taintBased, 5*time.Minute
			l := newLife(t, cfg)
			l.begin(t)
			play(t, l, row.harm(l))
		})
	}
}

// All leave at one instant, wherever they are, the condemned pod last. Neighbours stay or leave as ever.
func TestTheyLeaveTogether(t *testing.T) {
	harmed(t, func(t *testing.T, l *life, harm func(node string)) {
		harm("a-0")
		l.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
		require.Len(t, l.Evicted(), 4, "and the neighbour on the failed node")
		require.Empty(t, l.waits)
		require.Empty(t, l.e.Pods().Evictions())
		var told []string
		for _, entry := range l.why.Explain("default/b-0-p0") {
			if entry.Pod == "default/b-0-p0" {
				told = append(told, entry.Text)
			}
		}
		require.Len(t, told, 1)
		require.Contains(t, told[0], "evicted from node b-0: goes with pod default/a-0-p0")
	})
}

// A hold that comes while they leave keeps the rest.
func TestAHoldKeepsTheRest(t *testing.T) {
	harmed(t, func(t *testing.T, l *life, harm func(node string)) {
		held := false
		l.refuse = func(gate.Act) error {
			if !held && len(l.of()) == 1 {
				held = true
				l.e.Nodes().Hold("b-0", "repair")
			}
			return nil
		}
		harm("a-0")
		l.Advance(20 * time.Minute)
		require.Equal(t, []string{"a-1-p0"}, l.of())
		l.e.Nodes().Release("b-0")
		l.Advance(20 * time.Minute)
		require.Equal(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
	})
}

// One no holds all of them back, whoever says it.
func TestOneNoHoldsAllBack(t *testing.T) {
	for name, row := range map[string]struct {
		refuse func(l *life, refuses bool)
		want   string
	}{
		"the Gate, to its eviction": {func(l *life, refuses bool) {
			l.refuse = func(act gate.Act) error {
				if refuses && act.Do == gate.Evict && act.Pod.Name == "b-0-p0" {
					return &gate.Refused{Reason: "Night"}
				}
				return nil
			}
		}, "Night: pod default/b-0-p0 of its group: Night"},
		"the Gate, to harm in its domain": {func(l *life, refuses bool) {
			l.refuse = func(act gate.Act) error {
				if refuses && act.Do == gate.Harm && act.Domain.Zone == "b" {
					return errors.New("no")
				}
				return nil
			}
		}, "Refused: pod default/b-0-p0 of its group: no"},
		"a hold": {func(l *life, refuses bool) {
			if refuses {
				l.e.Nodes().Hold("b-0", "repair")
			} else {
				l.e.Nodes().Release("b-0")
			}
		}, "Held: pod default/b-0-p0 of its group: node b-0 is held: repair"},
		"its disruption budget": {func(l *life, refuses bool) {
			l.check = func(pod cluster.PodRef) error {
				if refuses && pod.Name == "b-0-p0" {
					return budgetSays()
				}
				return nil
			}
		}, "DisruptionBudget: pod default/b-0-p0 of its group: no"},
		"the condemned pod's disruption budget": {func(l *life, refuses bool) {
			l.check = func(pod cluster.PodRef) error {
				if refuses && pod.Name == "a-0-p0" {
					return budgetSays()
				}
				return nil
			}
		}, "DisruptionBudget: pod default/a-0-p0 of its group: no"},
	} {
		t.Run(name, func(t *testing.T) {
			harmed(t, func(t *testing.T, l *life, harm func(node string)) {
				row.refuse(l, true)
				harm("a-0")
				l.Advance(20 * time.Minute)
				require.Empty(t, l.of())
				require.Len(t, l.Evicted(), 1, "the neighbour does not wait")
				if l.cfg.Nodes.TaintBasedEviction {
					require.Equal(t, []string{"a-0-p0 " + row.want}, slices.Compact(l.waits))
				}
				row.refuse(l, false)
				l.e.Kick()
				l.Advance(0)
				require.Equal(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
			})
		})
	}
}

func budgetSays() error {
	answer := apierrors.NewTooManyRequests("no", 0)
	answer.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	return answer
}

// cutAt has the eviction of a pod fail, with what happens at that instant.
func (l *life) cutAt(pod string, happens func()) {
	l.FailWrites(func(write, object string) error {
		if write == "evict" && object == "default/"+pod {
			happens()
			return apierrors.NewInternalError(errors.New("broken"))
		}
		return nil
	})
}

// An error between two evictions is retried: who has left is not evicted again, nor who replaces it. The failure is a decision.
func TestAfterAnErrorTheRestLeaves(t *testing.T) {
	harmed(t, func(t *testing.T, l *life, harm func(node string)) {
		for _, failing := range []string{"b-0-p0", "a-0-p0"} {
			l.cutAt(failing, func() {})
		}
		harm("a-0")
		l.Advance(8 * time.Minute)
		require.Equal(t, []string{"a-1-p0"}, l.of())
		l.AddPod("a-1-p0", "a-1")
		l.Advance(2 * time.Minute)
		require.Equal(t, []string{"a-1-p0"}, l.of())
		l.FailWrites(nil)
		l.Advance(2 * time.Minute)
		require.Equal(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
		require.True(t, slices.ContainsFunc(l.why.Explain("default/b-0-p0"), func(e explain.Entry) bool {
			return e.Pod == "default/b-0-p0" && e.Problem && strings.Contains(e.Text, "broken")
		}))
		require.Empty(t, l.e.Pods().Evictions())
	})
}

// Between any two evictions the process ends, or another one leads: the next one goes on with those that are left, and with
// nobody who replaces one.
func TestTheNextProcessGoesOn(t *testing.T) {
	for _, cut := range []string{"b-0-p0", "a-0-p0"} {
		for name, idle := range map[string]time.Duration{"at once": 0, "after nobody led for a while": 3 * time.Minute} {
			t.Run(cut+" "+name, func(t *testing.T) {
				harmed(t, func(t *testing.T, l *life, harm func(node string)) {
					l.cutAt(cut, func() { l.idle = true })
					harm("a-0")
					l.Advance(8 * time.Minute)
					before := l.of()
					require.Len(t, before, map[string]int{"b-0-p0": 1, "a-0-p0": 2}[cut])
					l.AddPod("a-1-p0", "a-1")
					l.FailWrites(nil)
					l.Advance(idle)
					require.Equal(t, before, l.of(), "it does not lead")
					l.idle = false
					l.begin(t)
					l.Advance(10 * time.Minute)
					require.Equal(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
				})
			})
		}
	}
}

// Leadership that is lost within a call, between two evictions, ends them.
func TestNoEvictionAfterLeadershipIsLost(t *testing.T) {
	harmed(t, func(t *testing.T, l *life, harm func(node string)) {
		l.FailWrites(func(write, object string) error {
			if write == "evict" && object == "default/a-1-p0" {
				l.idle = true // by the time that this eviction is done
			}
			return nil
		})
		harm("a-0")
		l.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-1-p0"}, l.of())
		l.idle = false
		l.Advance(2 * time.Minute)
		require.Equal(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
	})
}

// What made the group leave goes between two evictions: the rest stays.
func TestTheRestStaysWithoutACause(t *testing.T) {
	l := newLife(t, evictor.DefaultConfig())
	l.begin(t)
	l.FailWrites(func(write, object string) error {
		if write == "evict" && object == "default/a-1-p0" {
			l.Untaint("a-0", "k", v1.TaintEffectNoExecute)
		}
		return nil
	})
	l.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	l.Advance(10 * time.Minute)
	require.Equal(t, []string{"a-1-p0"}, l.of())
	require.Empty(t, l.e.Pods().Evictions())

	l.AddPod("a-1-p0", "a-1")
	l.Advance(time.Minute)
	l.FailWrites(nil)
	l.Taint("b-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	l.Advance(time.Minute)
	require.Equal(t, []string{"a-1-p0", "a-0-p0", "a-1-p0", "b-0-p0"}, l.of(), "the whole group, when it has to leave anew")
}

// When the node reports Ready while its group leaves, the rest stays at once, before our taint is lifted.
func TestTheRestStaysWhenTheNodeIsBack(t *testing.T) {
	for _, taints := range []bool{true, false} {
		cfg := evictor.DefaultConfig()
		cfg.Nodes.TaintBasedEviction = taints
		l := newLife(t, cfg)
		l.begin(t)
		l.FailWrites(func(write, object string) error {
			if write == "evict" && object == "default/a-1-p0" {
				l.Recover("a-0")
			}
			return nil
		})
		l.Fail("a-0")
		l.Advance(10 * time.Minute)
		require.Equal(t, []string{"a-1-p0"}, l.of(), "taints: %v", taints)
	}
}

// Those that replace members do not go along, nor do pods that have completed, that are about to go or that do not exist.
func TestWhoIsNoMember(t *testing.T) {
	l := newLife(t, evictor.DefaultConfig())
	l.group = groupOf("a-0", "a-1", "a-2", "a-3", "a-4", "a-9")
	var pause gate.Pause
	l.refuse = func(act gate.Act) error { return pause.May(context.Background(), act) }
	l.begin(t)
	l.Phase("a-3-p0", v1.PodSucceeded)
	l.Fail("a-4")
	l.DeletePod("a-4-p0") // and stays, terminating
	l.DeletePod("a-1-p0")
	pause.Pause("later")
	l.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	l.Advance(30 * time.Second)
	l.AddPod("a-1-p0", "a-1")
	pause.Resume("later")
	l.e.Kick()
	l.Advance(10 * time.Second)
	require.Equal(t, []string{"a-2-p0", "a-0-p0"}, l.of())
}

// Two of a group are condemned at once: each pod leaves once. The slice that Group returns stays as it is.
func TestTwoOfAGroupAreCondemned(t *testing.T) {
	l := newLife(t, evictor.DefaultConfig())
	keys := groupOf("b-0", "a-1", "a-0")(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-0-p0"}})
	before := slices.Clone(keys)
	l.group = func(*v1.Pod) []cluster.PodKey { return keys }
	l.begin(t)
	for _, node := range []string{"a-0", "b-0"} {
		l.Taint(node, v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	}
	l.Advance(time.Minute)
	require.ElementsMatch(t, []string{"a-1-p0", "b-0-p0", "a-0-p0"}, l.of())
	require.Len(t, l.gone, 5, "and two neighbours, each told once")
	require.Equal(t, before, keys)
}
