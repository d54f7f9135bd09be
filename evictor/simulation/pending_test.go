package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// sameChecks compares why no node lets a pod in with what a naive search says, which does not tell resources apart.
func sameChecks(t *testing.T, want map[string]int, u Unplaced) {
	t.Helper()
	byTaint := u.Because[placement.Cordoned] + u.Because[placement.NotReady] + u.Because[placement.TaintThere]
	require.Equal(t, want[placement.TaintThere], byTaint)
	require.Equal(t, want[placement.Selectors], u.Because[placement.Selectors])
	require.Equal(t, want[placement.SpreadApart], u.Because[placement.SpreadApart])
	require.Equal(t, want[placement.PortTaken], u.Because[placement.PortTaken])
	require.Equal(t, want[placement.PodAffinity], u.Because[placement.PodAffinity])
	nodes, resources := 0, 0
	for _, n := range want {
		nodes += n
	}
	for _, n := range u.Because {
		resources += n
	}
	require.Equal(t, nodes, u.Nodes)
	resources -= byTaint + u.Because[placement.Selectors] + u.Because[placement.PortTaken] + u.Because[placement.SpreadApart] + u.Because[placement.PodAffinity]
	require.GreaterOrEqual(t, resources, want["room"])
	require.Equal(t, want["room"] > 0, resources > 0)
}

// A pod of a web server finds no node: each of them has another obstacle, and some two.
func TestThePendingSayWhy(t *testing.T) {
	pool := func(cpu string) NodeFields {
		return NodeFields{Labels: map[string]string{"pool": "web"}, Capacity: map[string]Quantity{"cpu": Quantity(cpu), "memory": "4Gi"}}
	}
	tainted, full := pool("4"), pool("1")
	tainted.Taints = []NodeTaint{{Key: "mine", Effect: "NoSchedule"}}
	full.Capacity["memory"] = "1Gi"
	s := Scenario{Until: 20 * time.Minute}
	s.Zones = []Zone{
		{Name: "a", Nodes: 3, PodsPerNode: 2, NodeFields: pool("4"), TolerationSeconds: ptr(TolerationSeconds(0)), Pod: PodFields{
			Owner: "ReplicaSet/web", NodeSelector: map[string]string{"pool": "web"}, Requests: map[string]Quantity{"cpu": "2", "memory": "2Gi"},
		}},
		{Name: "b", Nodes: 3, NodeFields: tainted},
		{Name: "c", Nodes: 2, NodeFields: full},
		{Name: "d", Nodes: 4},
	}
	s.Events = []Event{
		{At: time.Minute, Cordon: named("c-001")},
		{At: time.Minute, Fail: named("a-000")},
	}
	type refusal struct {
		at  time.Duration
		pod evictor.PodKey
		why *Unplaced
	}
	var refused []refusal
	s.Refused = func(at time.Duration, pod evictor.PodKey, why *Unplaced) {
		refused = append(refused, refusal{at, pod, why})
	}
	lines, _, r := told(t, newCluster(clockOf(nil)), s)
	pending := of(lines, timeline.KindPending)
	require.Len(t, pending, 2)
	require.Len(t, refused, 2)
	for i := range refused {
		require.Equal(t, fmt.Sprintf("default/a-000-p%d", 1-i), refused[i].pod.String())
		require.Equal(t, pending[i].T, refused[i].at)
		require.Equal(t, "0/12 nodes: 4 selector, 3 cpu, 3 memory, 3 taint, 1 cordoned, 1 not Ready", refused[i].why.String())
		require.Equal(t, map[string]int{"selector": 4, "cpu": 3, "memory": 3, "taint": 3}, refused[i].why.Alone, "the cordoned node has no room either, and the silent one is full")
	}
	for _, l := range pending {
		require.Equal(t, because("0/12 nodes: 4 selector, 3 cpu, 3 memory, 3 taint, 1 cordoned, 1 not Ready"), l.More)
	}
	require.Equal(t, []Unplaced{{2, "default/a-000-p1", 12, map[string]int{
		"selector": 4, "cpu": 3, "memory": 3, "taint": 3, "cordoned": 1, "not Ready": 1,
	}, nil}}, r.Unplaced)
}

// TestWhoWaitsIsGroupedByWhatItAsksFor: the most first, and not more than so many groups.
func TestWhoWaitsIsGroupedByWhatItAsksFor(t *testing.T) {
	c := newCluster(clockOf(nil))
	require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	s := Scenario{Until: 20 * time.Minute, Events: []Event{{At: time.Minute, Drain: &Drain{Nodes: *named("n")}}}}
	for i := range mostUnplaced + 5 {
		for k := range 1 + i%2 {
			_, err := c.AddPodObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "p-" + string(rune('a'+i)) + string(rune('0'+k)), OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "j", Controller: ptr(true)}},
			}, Spec: v1.PodSpec{NodeName: "n", NodeSelector: map[string]string{"pool": string(rune('a' + i))}}})
			require.NoError(t, err)
		}
	}
	_, _, r := told(t, c, s)
	require.Len(t, r.Unplaced, mostUnplaced)
	require.Equal(t, Unplaced{2, "shop/p-b0", 1, map[string]int{"cordoned": 1}, nil}, r.Unplaced[0])
	require.Equal(t, Unplaced{1, "shop/p-a0", 1, map[string]int{"cordoned": 1}, nil}, r.Unplaced[12])
	require.Equal(t, 37, r.PendingAtEnd)
}

// What was found stands for a second, for pods that ask for the same.
func TestWhyIsAskedOnceASecond(t *testing.T) {
	s := Scenario{Until: 2 * time.Minute, ReplaceAfter: 10 * time.Second}
	s.Zones = []Zone{{Name: "a", Nodes: 4, PodsPerNode: 1, NodeFields: NodeFields{Capacity: map[string]Quantity{"pods": "1"}}}}
	for i, when := range []time.Duration{60 * time.Second, 60500 * time.Millisecond, 61 * time.Second} {
		s.Events = append(s.Events, Event{At: when, Drain: &Drain{Nodes: *named(fmt.Sprintf("a-%03d", i))}})
	}
	s.Events = append(s.Events, Event{At: 70200 * time.Millisecond, Cordon: named("a-003")})
	lines, _, _ := told(t, newCluster(clockOf(nil)), s)
	var reasons []string
	for _, l := range of(lines, timeline.KindPending) {
		reasons = append(reasons, l.T.String()+l.More)
	}
	require.Equal(t, []string{
		"1m10s" + because("0/4 nodes: 3 cordoned, 1 pods"), "1m10.5s" + because("0/4 nodes: 3 cordoned, 1 pods"), "1m11s" + because("0/4 nodes: 4 cordoned"),
	}, reasons)
}
