package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// counts counts what is told: kind, node and pod.
func counts(n map[string]int) evictor.Options {
	return evictor.Options{Observer: evictor.Observe(
		func(d evictor.NodeDecision) { n[fmt.Sprintf("%v %s %s", d.Kind, d.Node, d.Pod.Name)]++ },
		func(d evictor.PodDecision) { n[fmt.Sprintf("pod %v %s", d.Kind, d.Pod.Name)]++ },
	)}
}

// Without taints a refused eviction is told once, and again when its reason changes.
func TestARefusalIsToldOnce(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	told, reason := map[string]int{}, "Night"
	opts := counts(told)
	opts.Gate = gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Evict {
			return &gate.Refused{Reason: reason}
		}
		return nil
	})
	c.Start(withoutTaints(evictor.DefaultConfig(), 5*time.Minute), opts)
	c.Fail("a-0")
	c.Advance(30 * time.Minute)
	key := fmt.Sprintf("%v a-0 a-0-p0", nodelifecycle.PodDelayed)
	require.Equal(t, 1, told[key])
	reason = "Day"
	c.Advance(30 * time.Minute)
	require.Equal(t, 2, told[key])
	require.Empty(t, c.Evicted())
}

// A refused turn is told once, and again when its reason changes.
func TestATurnsNewReasonIsTold(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	told, reason := map[string]int{}, "Night"
	opts := counts(told)
	opts.Gate = gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Turn {
			return &gate.Refused{Reason: reason}
		}
		return nil
	})
	c.Start(evictor.DefaultConfig(), opts)
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	key := fmt.Sprintf("%v a-0 ", nodelifecycle.TurnRefused)
	require.Equal(t, 1, told[key])
	reason = "Day"
	c.Advance(5 * time.Minute)
	require.Equal(t, 2, told[key])
}

// The backoff of a node's failing writes grows to RetryMax.
func TestTheBackoffOfWritesGrows(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	cfg := withoutTaints(evictor.DefaultConfig(), 5*time.Minute) // with taints each turn tries, too
	cfg.Nodes.PodEvictionTimeout = 2 * time.Hour
	c.Start(cfg)
	tries := 0
	c.FailWrites(func(write, _ string) error {
		if write != "conditions" {
			return nil
		}
		tries++
		return errors.New("unavailable")
	})
	c.Fail("a-0")
	c.Advance(30 * time.Minute)
	require.Greater(t, tries, 25)
	require.Less(t, tries, 60, "once a minute in the end")
}

// However high the rate is, a taint that fails is not sent at that rate, and soon after it no longer fails.
func TestATaintThatFailsIsNotSentAtTheRate(t *testing.T) {
	for name, err := range lostAndForbidden {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 4))
			cfg := evictor.DefaultConfig()
			cfg.Nodes.NodeEvictionRate = 1000
			c.Start(cfg)
			tries := 0
			c.FailWrites(func(write, _ string) error {
				if write != "taints" {
					return nil
				}
				tries++
				return err
			})
			c.Fail("a-0")
			c.Advance(5 * time.Minute)
			require.Greater(t, tries, 100)
			require.Less(t, tries, 200, "every two seconds in the end")
			c.FailWrites(nil)
			c.Advance(2 * time.Second)
			require.True(t, c.HasNoExecute("a-0"))
		})
	}
}

var lostAndForbidden = map[string]error{
	"lost":      apierrors.NewInternalError(errors.New("etcd: request timed out")),
	"forbidden": apierrors.NewForbidden(v1.Resource("nodes"), "a-0", errors.New("a webhook")),
}

// A Gate learns which node a pod leaves, and why.
func TestAGateLearnsWhereAndWhy(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	var acts []gate.Act
	c.Start(evictor.DefaultConfig(), evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Evict {
			acts = append(acts, act) // judged below: a panic in here would only be a refusal
		}
		return nil
	})})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.NotEmpty(t, acts)
	for _, act := range acts {
		require.Equal(t, "a-0", act.Node)
		require.Equal(t, "a", act.Domain.Zone)
		require.Equal(t, "a-0-p0", act.Pod.Name)
		require.NotNil(t, act.Why.Taint)
		require.Equal(t, v1.TaintNodeUnreachable, act.Why.Taint.Key)
	}
}

// What our own taints made overdue leaves at the zone's rate, but a pod that has to leave because of another taint does so at once.
func TestAnothersTaintIsNotHeldBack(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)))
	closed, by := false, map[string]string{}
	e := c.Start(evictor.DefaultConfig(), evictor.Options{
		Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Harm && closed {
				return &gate.Refused{Reason: "Closed"}
			}
			return nil
		}),
		Observer: evictor.Observe(func(evictor.NodeDecision) {}, func(d evictor.PodDecision) {
			if d.Kind == tainteviction.PodEvicted && d.Taint != nil {
				by[d.Pod.Name] = d.Taint.Key
			}
		}),
	})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(3 * time.Minute)
	closed = true
	c.Advance(7 * time.Minute)
	require.Empty(t, c.Evicted())
	c.Taint("a-3", v1.Taint{Key: "theirs", Effect: v1.TaintEffectNoExecute})
	c.Advance(5 * time.Second)
	require.Empty(t, c.Evicted())
	closed = false
	e.Kick()
	c.Advance(2 * time.Second)
	require.Contains(t, c.Evicted(), "a-3-p0")
	require.Less(t, len(c.Evicted()), 4, "at the zone's rate")
	require.Equal(t, "theirs", by["a-3-p0"])
}

// A pod that was there at the start tolerates since it was scheduled or, if that is not known, since it started.
func TestWhenAPodWasBound(t *testing.T) {
	for name, status := range map[string]func(created, bound time.Time) v1.PodStatus{
		"scheduled": func(_, bound time.Time) v1.PodStatus {
			return v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(bound)}}}
		},
		"scheduled, and another later": func(_, bound time.Time) v1.PodStatus {
			return v1.PodStatus{Conditions: []v1.PodCondition{
				{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(bound)},
				{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(bound.Add(80 * time.Second))},
			}}
		},
		"started": func(_, bound time.Time) v1.PodStatus {
			at := metav1.NewTime(bound)
			return v1.PodStatus{StartTime: &at, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
		},
	} {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		c.Advance(20 * time.Minute)
		now := c.Clock().Now()
		added := metav1.NewTime(now.Add(-20 * time.Minute))
		c.Taint("a-0", v1.Taint{Key: "theirs", Effect: v1.TaintEffectNoExecute, TimeAdded: &added})
		created, bound := now.Add(-15*time.Minute), now.Add(-100*time.Second)
		c.AddPodObject(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: metav1.NewTime(created)},
			Spec:       v1.PodSpec{NodeName: "a-0", Tolerations: []v1.Toleration{evictortest.TolerateFor("theirs", 300)}},
			Status:     status(created, bound),
		})
		c.Start(evictor.DefaultConfig())
		c.Advance(195 * time.Second)
		require.Empty(t, c.Evicted(), name)
		c.Advance(10 * time.Second)
		require.Equal(t, []string{"p"}, c.Evicted(), name)
	}
}

// A pod that completes before its time is told of, and is armed no more.
func TestAPodThatCompletesIsCancelledAtOnce(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	told := map[string]int{}
	e := c.Start(evictor.DefaultConfig(), counts(told))
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Len(t, e.Pods().Evictions(), 1)
	c.Phase("a-0-p0", v1.PodSucceeded)
	c.Advance(time.Second)
	require.Empty(t, e.Pods().Evictions())
	require.Equal(t, 1, told[fmt.Sprintf("pod %v a-0-p0", tainteviction.EvictionCancelled)])
}

// After every zone was down, a node that was emptied before waits for one turn more, which ends once.
func TestAfterAllWasDownAnEmptiedNodeHasOneTurnMore(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var ended []string
	c.Start(withoutTaints(evictor.DefaultConfig(), 5*time.Minute), evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.TurnEnded {
			ended = append(ended, d.Node+" "+d.Reason)
		}
	}, nil)})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	c.Fail("a-1", "a-2")
	c.Advance(2 * time.Minute)
	c.Recover("a-1", "a-2")
	c.Advance(30 * time.Minute)
	require.Equal(t, []string{"a-0 Served", "a-0 Dropped"}, ended)
}

// A silent node is told of after its lease was read, and that nobody reads leases is told once.
func TestASilentNodeIsToldOfAfterItsLeaseWasRead(t *testing.T) {
	for _, reads := range []bool{true, false} {
		var told diary
		u := newUpstreams(t, config(), &told)
		for _, name := range []string{"node0", "node1", "well"} {
			u.node(name, "", longAgo, v1.ConditionTrue)
		}
		u.reporting["well"] = true
		u.pass(0)
		if reads {
			_, _ = u.e.Silent()
		}
		u.pass(time.Minute)
		require.Equal(t, !reads, len(told.of("NodeVerdict")) == 2)
		require.Equal(t, !reads, len(told.of("LeasesUnread")) == 1)
		if reads {
			u.e.LeaseRead("node0", time.Time{}, "", nil)
			u.pass(0)
			require.Len(t, told.of("NodeVerdict", "node0"), 1)
			require.Empty(t, told.of("NodeVerdict", "node1"))
		}
	}
}

// namesOf are the words of a decision about a node that say what it is about.
func namesOf(d evictor.NodeDecision) string {
	words := []any{d.Kind, d.Node, d.Pod.Name, d.Zone.Zone, d.From, d.To, d.Grace, len(d.Conditions), len(d.Added), len(d.Removed), d.State, d.Rate, d.Counts, d.Reason, d.Err}
	text := fmt.Sprint(words[0])
	for _, word := range words[1:] {
		if word != nil && !reflect.ValueOf(word).IsZero() {
			text += fmt.Sprint(" ", word)
		}
	}
	return text
}

// Each decision names what it is about: the node, the pod, the zone with its state, rate and counts, and the reason.
func TestWhatEachDecisionNames(t *testing.T) {
	for name, row := range map[string]struct {
		cfg  evictor.Config
		want []string
	}{
		"with taints": {config(), []string{
			"NodeRegistered a-0 a",
			"NodeRegistered a-1 a",
			"ZoneChanged a Normal 0.1 {4 0}",
			"NodeVerdict a-0 a True Unknown 40s",
			"NodeQueued a-0 a Normal 0.1 {4 1}",
			"ConditionsWritten a-0 4",
			"TaintsWritten a-0 2",
			"TurnEnded a-0 a Served",
			"EvictionArmed default/a-0-p0 a-0 true 0 1m0s true  <nil>\n",
			"PodMarkedNotReady a-0 a-0-p0",
			"WriteFailed default/a-0-p0 a-0 false -1 0s false eviction evicting pod default/a-0-p0: broken\n",
			"PodEvicted default/a-0-p0 a-0 true 0 1m0s true  <nil>\n",
			"NodeVerdict a-1 a True Unknown 40s",
			"NodeQueued a-1 a Normal 0.1 {4 2}",
			"TurnRefused a-1 a Night Night",
			"ConditionsWritten a-1 4",
			"TaintsWritten a-1 1",
			"PodMarkedNotReady a-1 a-1-p0",
			"NodeDequeued a-1 a NodeReady",
			"TaintsWritten a-1 1",
			"NodeVerdict a-0 a Unknown True 40s",
			"NodeVerdict a-1 a Unknown True 40s",
			"TaintsWritten a-0 2",
			"NodeRemoved a-0 deleted",
		}},
		"without": {withoutTaints(config(), time.Minute), []string{
			"NodeRegistered a-0 a",
			"NodeRegistered a-1 a",
			"ZoneChanged a Normal 0.1 {4 0}",
			"NodeVerdict a-0 a True Unknown 40s",
			"ConditionsWritten a-0 4",
			"TaintsWritten a-0 1",
			"PodMarkedNotReady a-0 a-0-p0",
			"NodeQueued a-0 a Normal 0.1 {4 1}",
			"WriteFailed a-0 a-0-p0 eviction evicting pod default/a-0-p0: broken",
			"PodEvicted a-0 a-0-p0 PodEvictionTimeout",
			"NodeEmptied a-0",
			"TurnEnded a-0 a Served",
			"NodeVerdict a-1 a True Unknown 40s",
			"ConditionsWritten a-1 4",
			"TaintsWritten a-1 1",
			"PodMarkedNotReady a-1 a-1-p0",
			"NodeQueued a-1 a Normal 0.1 {4 2}",
			"TurnRefused a-1 a Night Night",
			"NodeDequeued a-1 a NodeReady",
			"TaintsWritten a-0 1",
			"TaintsWritten a-1 1",
			"NodeVerdict a-0 a Unknown True 40s",
			"NodeVerdict a-1 a Unknown True 40s",
			"NodeRemoved a-0 deleted",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
			var told []string
			c.Start(row.cfg, evictor.Options{
				Gate: gate.Func(func(_ context.Context, act gate.Act) error {
					if act.Do == gate.Turn && act.Node == "a-1" {
						return &gate.Refused{Reason: "Night"}
					}
					return nil
				}),
				Observer: evictor.Observe(func(d evictor.NodeDecision) {
					if d.Kind != nodelifecycle.Passed && d.Node != "a-2" && d.Node != "a-3" {
						told = append(told, namesOf(d))
					}
				}, func(d evictor.PodDecision) {
					told = append(told, fmt.Sprintln(d.Kind, d.Pod.PodKey, d.Pod.Node, d.Taint != nil, d.Toleration, d.Tolerated, !d.Deadline.IsZero(), d.Reason, d.Err))
				}),
			})
			fails := true
			c.FailWrites(func(write, _ string) error {
				if write != "evict" || !fails {
					return nil
				}
				fails = false
				return errors.New("broken")
			})
			c.Fail("a-0")
			c.Advance(5 * time.Minute)
			c.Fail("a-1")
			c.Advance(2 * time.Minute)
			c.Recover("a-0", "a-1")
			c.Advance(time.Minute)
			c.DeleteNode("a-0")
			c.Advance(time.Minute)
			require.ElementsMatch(t, row.want, told)
		})
	}
}
