package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// guarded is three nodes. The first has a database of one pod, whose budget never lets it go.
func guarded(events ...simulation.Event) simulation.Scenario {
	one, labels := intstr.FromInt(1), map[string]string{"db": "db0"}
	s := simulation.Scenario{
		Objects: []runtime.Object{&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db0"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		}},
		Events: events, Until: 2 * time.Hour, ReplaceAfter: 10 * time.Second,
	}
	for _, name := range []string{"n0", "n1", "n2"} {
		s.Nodes = append(s.Nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: "z"}},
			Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		})
	}
	s.Pods = []*v1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db0-0", Labels: labels, OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db0", Controller: new(bool)}}},
		Spec:       v1.PodSpec{NodeName: "n0"},
	}}
	*s.Pods[0].OwnerReferences[0].Controller = true
	return s
}

func drainOf(timeout time.Duration, then string) simulation.Event {
	return simulation.Event{At: time.Minute, Drain: &simulation.Drain{Nodes: simulation.Nodes{Names: []string{"n0"}}, Timeout: timeout, Then: then}}
}

func rollOf(timeout time.Duration, then string) simulation.Event {
	return simulation.Event{At: time.Minute, Roll: &simulation.Roll{Nodes: simulation.Nodes{Zone: "z"}, After: 90 * time.Second, Timeout: timeout, Then: then}}
}

const keeps = "pod default/db0-0: budget db0 needs 1 healthy pods and has 1"

// A drain whose budget never yields is told at its timeout, or at the end if it has none.
func TestADrainThatCannotEmptyItsNodeIsTold(t *testing.T) {
	for ended, c := range map[string]struct {
		event    simulation.Event
		at       time.Duration
		figures  map[string]float64
		text     string
		reported string // in the timeline
	}{
		simulation.DrainUnfinished: {
			drainOf(0, ""), 2 * time.Hour, map[string]float64{"drainsUnfinished": 1, "refusedAtEnd": 1, "longestRefusedSeconds": 7140},
			"the drain of node n0 has not ended after 1h59m, with 1 pod left: " + keeps, "2h0m0s n0 ",
		},
		simulation.DrainGivenUp: {
			drainOf(15*time.Minute, ""), 16 * time.Minute, map[string]float64{"drainsGivenUp": 1, "longestRefusedSeconds": 900},
			"the drain of node n0 was given up after 15m, with 1 pod left: " + keeps, "16m0s n0 ",
		},
		simulation.DrainForced: {
			drainOf(15*time.Minute+time.Second, "force"), 16*time.Minute + time.Second,
			map[string]float64{"drainsForced": 1, "drainedByForce": 1, "drained": 1, "returnedPods": 1, "longestRefusedSeconds": 901},
			"the drain of node n0 was forced after 15m1s, with 1 pod left: " + keeps, "16m1s n0 ",
		},
	} {
		t.Run(ended, func(t *testing.T) {
			r, lines := play(t, guarded(c.event))
			require.Empty(t, r.Warnings)
			require.Equal(t, []string{c.reported}, of(lines, "drainEnd"))
			require.Len(t, r.StuckDrains, 1)
			require.Equal(t, c.text, r.StuckDrains[0].String())
			require.Equal(t, ended, r.StuckDrains[0].Ended)
			require.Equal(t, c.at, r.StuckDrains[0].At)
			want := map[string]float64{"drains": 1, "evictionsRefused": 1}
			for _, name := range []string{"drainsUnfinished", "drainsGivenUp", "drainsForced", "drained", "drainedByForce", "returnedPods", "rollsUnfinished", "refusedAtEnd", "longestRefusedSeconds"} {
				want[name] = c.figures[name]
			}
			for _, f := range simulation.Figures(r) {
				if value, ok := want[f.Name]; ok {
					require.InDelta(t, value, f.Value, 0, f.Name)
				}
			}
			require.Equal(t, []int{1, r.RefusedAtEnd}, []int{r.Budgets[0].EvictionsRefused, r.Budgets[0].RefusedAtEnd})
			require.Equal(t, r.LongestRefused, r.Budgets[0].LongestRefused)
		})
	}
}

// A roll stops where a drain is given up, goes on where it is forced, and says how far it came if it hangs.
func TestARollThatNeverEndsIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		event  simulation.Event
		texts  []string
		drains int
	}{
		"hangs": {rollOf(0, ""), []string{
			"the roll has replaced 0 of 3 nodes, and still drains node n0 at the end",
			"the drain of node n0 has not ended after 1h59m, with 1 pod left: " + keeps,
		}, 1},
		"stops": {rollOf(15*time.Minute, "giveUp"), []string{
			"the roll has replaced 0 of 3 nodes, and stopped at node n0 at 16m",
			"the drain of node n0 was given up after 15m, with 1 pod left: " + keeps,
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, lines := play(t, guarded(c.event))
			require.Empty(t, r.Warnings)
			require.Equal(t, c.texts, []string{r.StuckRolls[0].String(), r.StuckDrains[0].String()})
			require.Equal(t, c.drains, r.Drains)
			require.Equal(t, 1, r.RollsUnfinished)
			require.Len(t, of(lines, "rollEnd"), 1)
		})
	}
	r, lines := play(t, guarded(rollOf(15*time.Minute, "force")))
	require.Zero(t, r.RollsUnfinished)
	require.Empty(t, of(lines, "rollEnd"))
	require.Equal(t, 3, r.Drains)
	require.GreaterOrEqual(t, r.DrainsForced, 1, "the database may move on to a node that is drained later")
	require.Equal(t, r.DrainsForced, r.DrainedByForce)
}

// While the API is down, a drain deletes nothing, by force or not.
func TestAForcedDrainWaitsForTheAPI(t *testing.T) {
	r, lines := play(t, guarded(drainOf(10*time.Minute, "force"),
		simulation.Event{At: 9 * time.Minute, API: &simulation.API{State: simulation.APIDown, For: simulation.ForEvictor}},
		simulation.Event{At: 30 * time.Minute, API: &simulation.API{State: simulation.APIUp}}))
	require.Equal(t, []string{"30m0s n0 db0-0"}, of(lines, "drain"))
	require.Equal(t, 1, r.DrainedByForce)
}

// A new drain of a node gives the one in progress another timeout. Cordoned nodes are drained, too.
func TestADrainCanBeGivenATimeoutLater(t *testing.T) {
	zone := simulation.Nodes{Zone: "z"}
	r, lines := play(t, guarded(
		simulation.Event{At: 30 * time.Second, Cordon: &zone},
		simulation.Event{At: time.Minute, Drain: &simulation.Drain{Nodes: zone}},
		simulation.Event{At: time.Hour, Drain: &simulation.Drain{Nodes: simulation.Nodes{Names: []string{"n0"}}, Timeout: time.Minute, Then: "force"}}))
	require.Equal(t, []string{"1h1m0s n0 db0-0"}, of(lines, "drain"))
	require.Equal(t, 1, r.DrainsForced)
	require.Equal(t, 1, r.Drains, "the others have nothing to drain")
}

func TestTimeoutsOfDrainsAreChecked(t *testing.T) {
	for want, e := range map[string]simulation.Event{
		"drain: timeout: -1s is negative":                  drainOf(-time.Second, ""),
		"drain: then: force needs a timeout":               drainOf(0, "force"),
		`roll: then: "wait" is neither giveUp nor force`:   rollOf(time.Minute, "wait"),
		`drain: then: "Force" is neither giveUp nor force`: drainOf(time.Minute, "Force"),
	} {
		_, err := simulation.Play(context.Background(), guarded(e))
		require.ErrorContains(t, err, want)
	}
}

// A budget that refuses an evictor is told, with how many pods it kept and for how long.
func TestBudgetsThatRefuseAnEvictorAreTold(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		s := guarded(simulation.Event{At: time.Minute, Fail: &simulation.Nodes{Names: []string{"n1"}}})
		s.Config = evictor.DefaultConfig()
		s.AskBudgets, s.Config.Nodes.TaintBasedEviction = true, taintBased
		labels := s.Pods[0].Labels
		s.Pods = append(s.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db0-1", Labels: labels}, Spec: v1.PodSpec{NodeName: "n1"}})
		two := intstr.FromInt(2)
		s.Objects[0].(*policyv1.PodDisruptionBudget).Spec.MinAvailable = &two
		r, _ := play(t, s)
		require.Zero(t, r.Evicted)
		require.Equal(t, 1, r.EvictionsRefused)
		require.Equal(t, 1, r.RefusedAtEnd)
		require.Greater(t, r.LongestRefused, 110*time.Minute)
		s.Events = append(s.Events, simulation.Event{At: time.Hour, Recover: &simulation.Nodes{Names: []string{"n1"}}})
		r, _ = play(t, s)
		require.Equal(t, 1, r.EvictionsRefused)
		require.Zero(t, r.RefusedAtEnd, "nobody wants to evict it any more")
		require.Less(t, r.LongestRefused, time.Hour)
	}
}

// Pods that run and are marked not Ready are told as such.
func TestMarkedPodsThatRunAreTold(t *testing.T) {
	s := guarded(simulation.Event{At: time.Minute, Partition: &simulation.Partition{Nodes: simulation.Nodes{Names: []string{"n0"}}}},
		simulation.Event{At: 5 * time.Minute, Recover: &simulation.Nodes{Names: []string{"n0"}}})
	s.Pods[0].Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	r, _ := play(t, s)
	require.Zero(t, r.Evicted)
	require.Equal(t, []int{1, 1, 1}, []int{r.PodsWithoutEndpoints, r.RunningWithoutEndpoints, r.Workloads[0].PodsWithoutEndpoints})
	require.InDelta(t, 3.2, r.LongestWithoutEndpoints.Minutes(), 0.1)
	require.Equal(t, r.LongestWithoutEndpoints, r.MedianWithoutEndpoints)
	require.Equal(t, r.LongestWithoutEndpoints, r.Workloads[0].LongestWithoutEndpoints)
}
