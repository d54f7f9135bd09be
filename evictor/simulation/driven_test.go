package simulation_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/zone"
)

// driven is a world of three nodes on a fake clock, and what happens in it.
func driven(t *testing.T, happened *[]string) (*simulation.World, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(simulation.Epoch)
	s := failing()
	s.Clock = clock
	if happened != nil {
		s.Happened = func(h simulation.Happening) { *happened = append(*happened, h.Node+": "+h.Text) }
	}
	w, err := simulation.New(s)
	require.NoError(t, err)
	return w, clock
}

// A program that moves time itself makes kubelets renew and report, and steps its own evictor.
func TestAProgramMovesTime(t *testing.T) {
	w, clock := driven(t, nil)
	e, err := w.NewEvictor(evictor.Options{})
	require.NoError(t, err)
	require.NoError(t, w.Clients().Source.Feed(e))
	require.NoError(t, w.Do(simulation.Event{Fail: &simulation.Nodes{Names: []string{"a"}}}))
	renewals, reports := 0, 0
	for {
		at, report, ok := w.Next()
		require.True(t, ok)
		if at > 8*time.Minute {
			break
		}
		require.GreaterOrEqual(t, at, clock.Since(simulation.Epoch))
		clock.SetTime(simulation.Epoch.Add(at))
		w.Turn()
		if report {
			reports++
		} else {
			renewals++
		}
		_, err := e.Step(context.Background())
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, renewals, 2*47, "of b and c")
	require.Positive(t, reports)
	n, _ := w.Clients().Nodes.Node("a")
	require.Len(t, n.Spec.Taints, 2, "NoSchedule and NoExecute")
	p, _ := w.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "web-0"})
	require.NotNil(t, p.DeletionTimestamp)
	require.NoError(t, w.Do(simulation.Event{Recover: &simulation.Nodes{Names: []string{"a"}}}))
	_, ok := w.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "web-0"})
	require.False(t, ok, "its kubelet has finished it")
}

// An event of which one part is impossible does nothing at all.
func TestAnEventHappensAsAWholeOrNotAtAll(t *testing.T) {
	var happened []string
	w, _ := driven(t, &happened)
	require.NoError(t, w.Do(simulation.Event{AddPod: &simulation.AddPod{Name: "d-ds0", Node: "b"}}))
	require.NoError(t, w.Do(simulation.Event{Fail: &simulation.Nodes{Names: []string{"b"}}}))
	happened = nil
	for want, e := range map[string]simulation.Event{
		"cordon: node q does not exist\nnode r does not exist":                 {Cordon: &simulation.Nodes{Names: []string{"a", "q", "r"}}},
		"deleteNode: count: 4 nodes of all nodes: there are only 3":            {DeleteNode: &simulation.Nodes{Count: 4}},
		"condition: node b has failed: only a live kubelet reports conditions": {Condition: &simulation.Condition{Nodes: simulation.Nodes{Names: []string{"a", "b"}}, Type: "Ready", Status: "False"}},
		"addNode: pod default/d-ds0 already exists":                            {AddNode: &simulation.AddNode{Name: "d", PodsPerNode: 1, DaemonSetPodsPerNode: 1}},
		"addPod: pod default/web-0 already exists":                             {AddPod: &simulation.AddPod{Name: "web-0", Node: "a"}},
		"forceDelete: pod shop/web-0 does not exist":                           {ForceDelete: &simulation.Pod{Name: "shop/web-0"}},
	} {
		require.ErrorContains(t, w.Do(e), want)
		require.Empty(t, happened, want)
	}
}

func TestObjectsAreAddedAndChange(t *testing.T) {
	var happened []string
	w, _ := driven(t, &happened)
	mine := &target{}
	require.NoError(t, w.Clients().Source.Feed(mine))
	*mine = target{}

	require.NoError(t, w.Add(node("d", "y", nil)))
	require.NoError(t, w.Add(pod("new", "d", "", "")))
	require.Equal(t, []string{"d"}, slices.Compact(mine.nodes))
	require.Equal(t, []string{"default/new"}, mine.pods)
	require.Equal(t, []string{"d: the node registers", "d: pod default/new is added"}, happened)

	require.ErrorContains(t, w.Add(node("d", "y", nil)), "node d already exists")
	require.ErrorContains(t, w.Add(pod("new", "d", "", "")), "pod default/new already exists")
	require.ErrorContains(t, w.Add(pod("lost", "q", "", "")), "pod lost: node q does not exist")
	require.ErrorContains(t, w.Add(pod("lost", "", "", "")), "pod lost: node  does not exist")
	require.ErrorContains(t, w.Add(nil), "is nil")
	require.ErrorContains(t, w.Add(deployment("web", 1, "1")), "*v1.Deployment: workloads must exist at time 0")
	require.Equal(t, []string{"default/new"}, mine.pods, "what failed did nothing")

	moved := node("d", "x", nil)
	moved.Labels["own"] = "yes"
	require.NoError(t, w.Update(moved))
	n, _ := w.Clients().Nodes.Node("d")
	require.Equal(t, moved.Labels, n.Labels)
	require.Equal(t, zone.Key{Zone: "x"}, zone.KeyOf(n.Labels))

	changed := pod("new", "d", "", "")
	changed.Labels, changed.Spec.Tolerations = map[string]string{"app": "other"}, nil
	changed.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
	require.NoError(t, w.Update(changed))
	p, _ := w.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "new"})
	require.Equal(t, changed.Labels, p.Labels)
	require.Empty(t, p.Spec.Tolerations)
	require.False(t, readyPod(p))
	changed.Status = v1.PodStatus{Phase: v1.PodSucceeded}
	require.NoError(t, w.Update(changed))
	p, _ = w.Clients().Pods.Pod(evictor.PodKey{Namespace: "default", Name: "new"})
	require.Equal(t, v1.PodSucceeded, p.Status.Phase)

	require.ErrorContains(t, w.Update(node("q", "", nil)), "node q does not exist")
	require.ErrorContains(t, w.Update(pod("q", "", "", "")), "pod default/q does not exist")
	require.ErrorContains(t, w.Update(&v1.ConfigMap{}), "is neither a Node nor a Pod")
}

func readyPod(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func TestWhereAPodCouldComeBack(t *testing.T) {
	w, _ := driven(t, nil)
	names, best := w.Feasible(pod("web-0", "a", "", ""))
	require.Equal(t, []string{"a", "b", "c"}, names)
	require.Equal(t, "c", best, "it has no pod")
	require.NoError(t, w.Do(simulation.Event{Cordon: &simulation.Nodes{Zone: "z"}}))
	names, best = w.Feasible(pod("web-0", "a", "", ""))
	require.Empty(t, names)
	require.Empty(t, best)
}

// A question changes nothing: where pods are not replaced, they still are not.
func TestAQuestionDoesNotTurnReplacementOn(t *testing.T) {
	s := simulation.Scenario{
		Zones: []simulation.Zone{{Name: "a", Nodes: 2, PodsPerNode: 1}}, Until: 10 * time.Minute, ReplaceAfter: -1,
		Events: []simulation.Event{{At: time.Minute, DeletePod: &simulation.Pod{Name: "a-000-p0"}}},
	}
	r, err := simulation.Play(context.Background(), s, func(w *simulation.World) (simulation.Controller, error) {
		return simulation.StepFunc(func(context.Context) (time.Time, error) {
			names, _ := w.Feasible(pod("web-0", "a-000", "", ""))
			require.Equal(t, []string{"a-000", "a-001"}, names)
			return time.Time{}, nil
		}), nil
	})
	require.NoError(t, err)
	require.Zero(t, r.ReturnedPods)
	require.Zero(t, r.Waiting)
}

// Objects come from a reader as well as from lists, and a list may have nodes and pods, in any order.
func TestObjectsAreRead(t *testing.T) {
	listed := failing()
	want, _ := play(t, listed)
	var all []runtime.Object
	for _, p := range listed.Pods {
		all = append(all, p)
	}
	for _, n := range listed.Nodes {
		all = append(all, n)
	}
	s := listed
	s.Nodes, s.Pods, s.Objects = nil, nil, all
	got, _ := play(t, s)
	require.Equal(t, want, got)

	s.Objects, s.Read = nil, func(add func(runtime.Object) error) error {
		for _, object := range all {
			if err := add(object); err != nil {
				return err
			}
		}
		return nil
	}
	got, _ = play(t, s)
	require.Equal(t, want, got)

	s.Nodes = listed.Nodes[:1]
	_, err := simulation.Play(context.Background(), s)
	require.ErrorContains(t, err, "node a already exists")
	broken := errors.New("broken")
	s.Read = func(func(runtime.Object) error) error { return broken }
	_, err = simulation.Play(context.Background(), s)
	require.ErrorIs(t, err, broken)
}
