package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// deleting is three nodes of a pod and a DaemonSet's pod each, on which events happen.
func deleting(events ...Event) Scenario {
	return Scenario{Zones: []Zone{{Name: "a", Nodes: 3, PodsPerNode: 1, DaemonSetPodsPerNode: 1}}, Events: events, Until: 10 * time.Minute}
}

// The garbage collector removes the pods of a deleted node once it has missed the node for 40 seconds, in passes of 20.
func TestPodsOfADeletedNodeStayUntilTheirNodeIsMissed(t *testing.T) {
	for at, want := range map[time.Duration]time.Duration{
		60 * time.Second: 100 * time.Second, 61 * time.Second: 120 * time.Second, 79 * time.Second: 120 * time.Second, 80 * time.Second: 120 * time.Second,
	} {
		lines, happened, r := told(t, newCluster(clockOf(nil)), deleting(Event{At: at, DeleteNode: named("a-000")}))
		removed := of(lines, timeline.KindRemove)
		require.Len(t, removed, 2)
		for _, l := range removed {
			require.Equal(t, want, l.T, at)
			require.Contains(t, l.More, "the node no longer exists")
		}
		require.Equal(t, at, happened["a-000: the node is deleted"])
		require.Equal(t, want+10*time.Second, of(lines, timeline.KindSchedule)[0].T)
		require.Equal(t, []int{1, 1}, []int{r.Removed, r.ReturnedPods}, "the DaemonSet's pod is not missed")
		require.InDelta(t, (want + 10*time.Second - at).Hours(), r.PodHoursLost, 1e-9, "it has no live node from the deletion on")
		require.Zero(t, r.KubeletFailures)
	}
}

// Until then the API shows them as they were, and they are told as left if the play ends before.
func TestPodsOfADeletedNodeLookAsTheyDid(t *testing.T) {
	s := deleting(Event{At: 61 * time.Second, DeleteNode: named("a-000")})
	s.Until = 110 * time.Second
	c := newCluster(clockOf(nil))
	_, _, r := told(t, c, s)
	require.Equal(t, map[string]int{leftDeleted: 1}, r.Left)
	key := evictor.PodKey{Namespace: "default", Name: "a-000-p0"}
	pod, ok := c.Pod(key)
	require.True(t, ok)
	require.Equal(t, "a-000", pod.Spec.NodeName)
	require.Nil(t, pod.DeletionTimestamp)
	require.Equal(t, v1.ConditionTrue, pod.Status.Conditions[0].Status)
	require.Contains(t, c.SortedPods("a-000"), key)
	_, exists := c.Node("a-000")
	require.False(t, exists)
	recount(t, c)
}

// A new node that has the name before that runs what is bound to it, and ends what was deleted. A later one begins
// empty.
func TestANewNodeRunsThePodsOfItsName(t *testing.T) {
	replace := func(after time.Duration) Event {
		return Event{At: 61 * time.Second, ReplaceNode: &ReplaceNode{Nodes: *named("a-000"), After: after}}
	}
	for after, want := range map[time.Duration]struct {
		returned int
		lost     time.Duration
	}{
		0: {0, 0}, 30 * time.Second: {0, 30 * time.Second}, 58 * time.Second: {0, 58 * time.Second}, 60 * time.Second: {1, 69 * time.Second}, 5 * time.Minute: {1, 69 * time.Second},
	} {
		c := newCluster(clockOf(nil))
		lines, _, r := told(t, c, deleting(replace(after)))
		require.Equal(t, want.returned, r.ReturnedPods, after)
		require.InDelta(t, want.lost.Hours(), r.PodHoursLost, 1e-9, after)
		require.Len(t, of(lines, timeline.KindRemove), 2*want.returned, after)
		require.Equal(t, want.returned == 0, slices.Contains(c.SortedPods("a-000"), evictor.PodKey{Namespace: "default", Name: "a-000-p0"}), after)
		require.Contains(t, c.SortedPods("a-000"), evictor.PodKey{Namespace: "default", Name: "a-000-ds0"})
		require.Equal(t, 3, r.Workloads[0].ReadyAtEnd)
		recount(t, c)
	}

	set := owned("StatefulSet", "db", "db-0", "a1")
	set.Spec.Tolerations = everything
	lines, happened, r := told(t, filed(t, v1.ReadWriteOnce, set), Scenario{Until: 10 * time.Minute, Events: []Event{
		{At: time.Minute, Fail: named("a1")}, {At: 2 * time.Minute, DeletePod: &Pod{Name: "shop/db-0"}}, {At: 3 * time.Minute, ReplaceNode: &ReplaceNode{Nodes: *named("a1")}},
	}})
	_, back := scheduled(lines, "db-0")
	require.Equal(t, 3*time.Minute+10*time.Second, back, "the new kubelet ends it")
	require.Equal(t, 3*time.Minute, happened["a1: the new node runs the pods that are bound to its name"])
	require.Zero(t, r.Removed)
}

// An added node of the name gets those of its pods that are not there already.
func TestAnAddedNodeRunsThePodsOfItsName(t *testing.T) {
	c := newCluster(clockOf(nil))
	_, _, r := told(t, c, deleting(Event{At: 61 * time.Second, DeleteNode: named("a-000")}, Event{At: 90 * time.Second, AddNode: &AddNode{Name: "a-000", Zone: "a", PodsPerNode: 2}}))
	require.Len(t, c.SortedPods("a-000"), 3, "with the old DaemonSet's")
	require.Zero(t, r.ReturnedPods)
	require.Zero(t, r.Removed)
	recount(t, c)
}

// The collector misses a name, not a machine: another node of that name, between two of its passes, does not make it
// begin anew.
func TestTheCollectorMissesNames(t *testing.T) {
	lines, _, _ := told(t, newCluster(clockOf(nil)), deleting(
		Event{At: 65 * time.Second, ReplaceNode: &ReplaceNode{Nodes: *named("a-000"), After: 20 * time.Second}}, Event{At: 110 * time.Second, DeleteNode: named("a-000")}))
	require.Equal(t, 2*time.Minute, of(lines, timeline.KindRemove)[0].T, "missed at 80 s and at 120 s")
}

// While controllers do not reach the API nobody collects.
func TestTheCollectorWaitsForTheAPI(t *testing.T) {
	lines, _, _ := told(t, newCluster(clockOf(nil)), deleting(
		Event{At: 61 * time.Second, DeleteNode: named("a-000")}, Event{At: 70 * time.Second, API: &API{State: APIDown, For: ForEvictor}}, Event{At: 150 * time.Second, API: &API{State: APIUp}}))
	require.Equal(t, 200*time.Second, of(lines, timeline.KindRemove)[0].T)
}

// The scheduler does not see pods of deleted nodes: another pod may use their claim, which only one pod may use.
func TestAClaimOfADeletedNodeIsFree(t *testing.T) {
	c := filed(t, v1.ReadWriteOncePod, claiming(owned("ReplicaSet", "db", "db", "a1"), "disk"))
	c.bindClaims()
	c.collects = true
	taken := func() bool {
		nodes, _ := c.feasible(claiming(owned("ReplicaSet", "db", "other", ""), "disk"))
		return len(nodes) == 0
	}
	require.True(t, taken())
	c.DeleteNode(&c.nodes[c.nodeByID["a1"]])
	require.False(t, taken())
	require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a1"}}))
	require.True(t, taken(), "the new node runs it")
}
