package simulation_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// ours starts an evictor with options.
func ours(options evictor.Options) simulation.Start {
	return func(w *simulation.World) (simulation.Controller, error) { return w.NewEvictor(options) }
}

// stepping starts a controller that is one function of its world.
func stepping(step func(w *simulation.World, now time.Duration) (next time.Duration, err error)) simulation.Start {
	return func(w *simulation.World) (simulation.Controller, error) {
		return simulation.StepFunc(func(context.Context) (time.Time, error) {
			next, err := step(w, w.Clock().Since(simulation.Epoch))
			if next <= 0 {
				return time.Time{}, err
			}
			return simulation.Epoch.Add(next), err
		}), nil
	}
}

// lost returns a scenario in which three of ten nodes of a zone fail.
func lost() simulation.Scenario {
	return simulation.Scenario{
		Zones:  []simulation.Zone{{Name: "a", Nodes: 10, PodsPerNode: 1}},
		Events: []simulation.Event{{At: time.Minute, Fail: &simulation.Nodes{Zone: "a", Count: 3}}},
		Until:  10 * time.Minute,
	}
}

func TestSeams(t *testing.T) {
	byDefault := []string{"6m45s a-000 a-000-p0", "6m55s a-001 a-001-p0", "7m5s a-002 a-002-p0"}
	var seen []evictor.PodDecision
	for name, c := range map[string]struct {
		start   simulation.Start
		evicted []string
	}{
		"the evictor": {ours(evictor.Options{}), byDefault},
		"a policy": {ours(evictor.Options{Policy: zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
			return zone.Ruling{State: zone.Normal, Rate: 0.02}
		})}), []string{"6m45s a-000 a-000-p0", "7m35s a-001 a-001-p0", "8m25s a-002 a-002-p0"}},
		"Prefer": {ours(evictor.Options{Prefer: func(_ zone.Key, waiting []string) string { return waiting[len(waiting)-1] }}),
			[]string{"6m45s a-000 a-000-p0", "6m55s a-002 a-002-p0", "7m5s a-001 a-001-p0"}},
		"a gate": {ours(evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Turn && act.Node == "a-002" {
				return &gate.Refused{Reason: "Two"}
			}
			return nil
		})}), byDefault[:2]},
		"an observer": {ours(evictor.Options{Observer: evictor.Observe(nil, func(d evictor.PodDecision) { seen = append(seen, d) })}), byDefault},
		"another evictor": {func(w *simulation.World) (simulation.Controller, error) {
			config := evictor.DefaultConfig()
			config.Nodes.TaintBasedEviction, config.Nodes.PodEvictionTimeout = false, time.Minute
			return evictor.New(config, w.Clients(), evictor.Options{Clock: w.Clock()})
		}, []string{"1m55s a-000 a-000-p0", "2m5s a-001 a-001-p0", "2m15s a-002 a-002-p0"}},
		"one of one's own": {stepping(evictNotReady), []string{"3m0s a-000 a-000-p0", "3m0s a-001 a-001-p0", "3m0s a-002 a-002-p0"}},
		"nobody":           {stepping(func(*simulation.World, time.Duration) (time.Duration, error) { return 0, nil }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, lines := play(t, lost(), c.start)
			require.Equal(t, c.evicted, of(lines, "evict"))
			require.Equal(t, len(c.evicted), r.Evicted)
		})
	}
	var evicted []string
	for _, d := range seen {
		if d.Kind == tainteviction.PodEvicted {
			evicted = append(evicted, d.Time.Sub(simulation.Epoch).String()+" "+d.Pod.Node+" "+d.Pod.Name)
		}
	}
	require.Equal(t, byDefault, evicted, "an observer gets the decisions, on the clock of the world")
}

// evictNotReady is a simple evictor: after three minutes it taints the nodes that fail and evicts their pods.
func evictNotReady(w *simulation.World, now time.Duration) (time.Duration, error) {
	if now < 3*time.Minute {
		return 3 * time.Minute, nil
	}
	c, ctx := w.Clients(), context.Background()
	for _, name := range []string{"a-000", "a-001", "a-002"} {
		n, _ := c.Nodes.Node(name)
		change := taints.Change{Add: []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}}
		if len(n.Spec.Taints) > 0 {
			continue
		}
		if err := c.NodeWriter.UpdateTaints(ctx, n, change); err != nil {
			return 0, err
		}
		var pods []evictor.PodRef
		c.Pods.PodsOnNode(name, func(p *v1.Pod) bool {
			pods = append(pods, evictor.PodRef{PodKey: evictor.PodKey{Namespace: p.Namespace, Name: p.Name}, UID: p.UID, Node: name})
			return true
		})
		for _, pod := range pods {
			if err := c.PodWriter.Evict(ctx, pod, taints.Deadline{}); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// When another controller cordons a node, the evictor sees it at that instant.
func TestControllersSeeEachOther(t *testing.T) {
	cordons := stepping(func(w *simulation.World, now time.Duration) (time.Duration, error) {
		if now < 2*time.Minute {
			return 2 * time.Minute, nil
		}
		if n, _ := w.Clients().Nodes.Node("a-005"); n.Spec.Unschedulable {
			return 0, nil
		}
		return 0, w.Do(simulation.Event{Cordon: &simulation.Nodes{Names: []string{"a-005"}}})
	})
	for _, controllers := range [][]simulation.Start{{ours(evictor.Options{}), cordons}, {cordons, ours(evictor.Options{})}} {
		_, lines := play(t, lost(), controllers...)
		require.Contains(t, of(lines, "taint"), "2m0s a-005 ")
		i := slices.IndexFunc(lines, func(l line) bool { return l.By == "controller" })
		require.Equal(t, []string{"a-005"}, lines[i].Nodes)
		require.Equal(t, "cordon node a-005", lines[i].Text)
		require.InDelta(t, 120, lines[i].T, 0)
	}
}

// World.Do has the same effect as an event.
func TestDoIsAnEvent(t *testing.T) {
	const act = 2*time.Minute + 7*time.Second // at a pass an event comes before it, and what a controller does after it
	for name, event := range map[string]simulation.Event{
		"drain":    {Drain: &simulation.Drain{Nodes: simulation.Nodes{Zone: "a", Count: 2}}},
		"replace":  {ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{"a-001"}}, After: time.Minute}},
		"roll":     {Roll: &simulation.Roll{Nodes: simulation.Nodes{Zone: "a", Count: 2}, After: time.Minute, Wait: time.Second}},
		"now":      {ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{"a-001"}}}},
		"recover":  {Recover: &simulation.Nodes{Zone: "a"}},
		"add":      {AddNode: &simulation.AddNode{Name: "new", Zone: "a"}},
		"after":    {ReplaceNode: &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{"a-001"}}, After: time.Hour}},
		"the API":  {API: &simulation.API{State: simulation.APISlow, Latency: time.Second}},
		"the pods": {ForceDelete: &simulation.Pod{Name: "a-009-p0"}},
	} {
		t.Run(name, func(t *testing.T) {
			done := false
			byController, _ := play(t, lost(), ours(evictor.Options{}), stepping(func(w *simulation.World, now time.Duration) (time.Duration, error) {
				if now < act || done {
					return act * min(1, max(0, act-now)), nil
				}
				done = true
				return 0, w.Do(event)
			}))
			s := lost()
			event.At = act
			s.Events = append(s.Events, event)
			byEvent, _ := play(t, s)
			byEvent.After = nil // it counts only events of the scenario
			for i := range byController.StuckDrains {
				byController.StuckDrains[i].Event = 2 // a controller's events have numbers of their own
			}
			require.Equal(t, byEvent, byController)
		})
	}
}

func TestDoSaysWhatIsWrong(t *testing.T) {
	var errs []error
	do := func(w *simulation.World, event simulation.Event) { errs = append(errs, w.Do(event)) }
	a0 := simulation.Nodes{Names: []string{"a-000"}}
	s := lost()
	s.Events = append(s.Events, simulation.Event{At: 2 * time.Minute, API: &simulation.API{State: simulation.APIDown}})
	r, lines := play(t, s, func(w *simulation.World) (simulation.Controller, error) {
		do(w, simulation.Event{Cordon: &a0})
		return stepping(func(w *simulation.World, now time.Duration) (time.Duration, error) {
			switch {
			case now == 0:
				do(w, simulation.Event{Cordon: &simulation.Nodes{Names: []string{"q"}}})
				do(w, simulation.Event{Cordon: &simulation.Nodes{}})
				do(w, simulation.Event{Taint: &simulation.Taint{Nodes: a0, NodeTaint: simulation.NodeTaint{Key: "k"}}})
				do(w, simulation.Event{DeletePod: &simulation.Pod{Name: "x/q"}})
				do(w, simulation.Event{Restart: &simulation.Restart{}})
				do(w, simulation.Event{})
			case now == 2*time.Minute && len(errs) < 8:
				do(w, simulation.Event{Cordon: &a0})
				do(w, simulation.Event{Recover: &a0})
			}
			return 0, nil
		})(w)
	})
	require.Len(t, errs, 9)
	for i, want := range []string{
		"Do was called before the first Step", `cordon: node q does not exist`, "nodes: nothing is selected", `taint: effect: ""`,
		`deletePod: pod x/q does not exist`, "restart: only an event", "0 actions",
	} {
		require.ErrorContains(t, errs[i], want)
	}
	require.True(t, apierrors.IsServiceUnavailable(errs[7]), "%v", errs[7])
	require.NoError(t, errs[8], "a reboot needs no API")
	require.Equal(t, [][]string{{"a-000", "a-001", "a-002"}, {"a-000"}, nil, nil, nil}, touched(lines), "what failed did nothing; the last two are of the leader and the guard")
	require.Zero(t, r.Evicted)
}

func TestRestartMakesControllersAnew(t *testing.T) {
	s := lost()
	s.Events = append(s.Events, simulation.Event{At: 2 * time.Minute, Restart: &simulation.Restart{}})
	made, first := 0, 0
	r, _ := play(t, s, func(w *simulation.World) (simulation.Controller, error) {
		made++
		mine := made
		return stepping(func(_ *simulation.World, now time.Duration) (time.Duration, error) {
			if mine == 1 {
				first++
				require.Less(t, now, 2*time.Minute)
			}
			return 0, nil
		})(w)
	}, ours(evictor.Options{}))
	require.Equal(t, 2, made)
	require.Positive(t, first)
	require.Equal(t, 3, r.Evicted, "the new evictor has been told of every node")
}

// target records changes.
type target struct{ nodes, pods, leases []string }

func (t *target) NodeChanged(name string)                          { t.nodes = append(t.nodes, name) }
func (t *target) PodChanged(key evictor.PodKey)                    { t.pods = append(t.pods, key.String()) }
func (t *target) LeaseObserved(node string, _ time.Time, _ string) { t.leases = append(t.leases, node) }
func (t *target) SetObserverHealth(error)                          {}

func TestTargetsAreTold(t *testing.T) {
	mine, late := &target{}, &target{}
	s := failing()
	s.Until = 30 * time.Second
	s.Events = []simulation.Event{{At: 15 * time.Second, DeletePod: &simulation.Pod{Name: "web-0"}}}
	play(t, s, func(w *simulation.World) (simulation.Controller, error) {
		require.NoError(t, w.Clients().Source.Feed(mine))
		require.Empty(t, mine.nodes, "not before all are made")
		return stepping(func(w *simulation.World, now time.Duration) (time.Duration, error) {
			if now == 0 {
				require.Equal(t, target{nodes: []string{"a", "b", "c"}, pods: []string{"default/db-0", "default/web-0", "default/web-1"}}, *mine)
				require.NoError(t, w.Clients().Source.Feed(late))
				require.Equal(t, *mine, *late)
			}
			return 0, nil
		})(w)
	})
	require.Equal(t, []string{"default/web-0", "default/web-0-r1"}, mine.pods[3:])
	require.Equal(t, []string{"b", "c", "a", "b", "c", "a", "b", "c", "a"}, mine.leases)
	require.Equal(t, *mine, *late)
}

// Controllers that never stop acting at one instant are an error; the simulation does not hang.
func TestControllersThatGoOnForEver(t *testing.T) {
	b := simulation.Nodes{Names: []string{"b"}}
	undo := func(cordoned bool, do simulation.Event) simulation.Start {
		return stepping(func(w *simulation.World, _ time.Duration) (time.Duration, error) {
			if n, _ := w.Clients().Nodes.Node("b"); n.Spec.Unschedulable == cordoned {
				return 0, w.Do(do)
			}
			return 0, nil
		})
	}
	_, err := simulation.Play(context.Background(), failing(), undo(false, simulation.Event{Cordon: &b}), undo(true, simulation.Event{Uncordon: &b}))
	require.ErrorContains(t, err, "at 0s the controllers keep undoing each other's changes")

	_, err = simulation.Play(context.Background(), failing(), ours(evictor.Options{}), stepping(func(_ *simulation.World, now time.Duration) (time.Duration, error) {
		return max(now, 1), nil
	}))
	require.ErrorContains(t, err, "controller 2, at 1ns: Step keeps asking to be called again at once")

	boom := errors.New("boom")
	_, err = simulation.Play(context.Background(), failing(), ours(evictor.Options{}), stepping(func(_ *simulation.World, now time.Duration) (time.Duration, error) {
		if now > time.Minute {
			return 0, boom
		}
		return 61 * time.Second, nil
	}))
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, "controller 2, at 1m1s: boom")
}

func TestWhatCannotBeMadeIsAnError(t *testing.T) {
	for want, start := range map[string]simulation.Start{
		"controller 1: its Start is nil":       nil,
		"controller 1: options.clock":          ours(evictor.Options{Clock: clocktesting.NewFakePassiveClock(time.Time{})}),
		"controller 1: no":                     func(*simulation.World) (simulation.Controller, error) { return nil, errors.New("no") },
		"controller 1: its Start returned nil": func(w *simulation.World) (simulation.Controller, error) { return (*evictor.Evictor)(nil), nil },
		"options.observer":                     ours(evictor.Options{Observer: (*nobody)(nil)}),
	} {
		_, err := simulation.Play(context.Background(), failing(), start)
		require.ErrorContains(t, err, want)
	}
}

type nobody struct{}

func (*nobody) ObserveNode(evictor.NodeDecision) {}
func (*nobody) ObservePod(evictor.PodDecision)   {}

// The stores show enough for controllers that use labels and owner references.
func TestStoresShowObjects(t *testing.T) {
	s := failing()
	s.Objects = append(s.Objects, deployment("api", 1, "1"))
	play(t, s, stepping(func(w *simulation.World, now time.Duration) (time.Duration, error) {
		if now > 0 {
			return 0, nil
		}
		c := w.Clients()
		n, ok := c.Nodes.Node("a")
		require.True(t, ok)
		require.Equal(t, "p-z", n.Labels["pool"])
		require.Equal(t, simulation.Epoch, w.Clock().Now())
		db, ok := c.Pods.Pod(evictor.PodKey{Namespace: "default", Name: "db-0"})
		require.True(t, ok)
		require.Equal(t, map[string]string{"app": "db"}, db.Labels)
		require.Equal(t, "StatefulSet", db.OwnerReferences[0].Kind)
		api, ok := c.Pods.Pod(evictor.PodKey{Namespace: "default", Name: "api-sim-0"})
		require.True(t, ok, "it has been scheduled before the first step")
		require.Len(t, api.Spec.Tolerations, 2)
		return 0, nil
	}))
}
