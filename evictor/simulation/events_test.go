package simulation

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// told returns what happened to nodes and pods, as node: text, by time.
func told(t *testing.T, c *cluster, s Scenario) (lines []timeline.Line, happened map[string]time.Duration, r *Report) {
	happened = make(map[string]time.Duration)
	s.Timeline = func(l timeline.Line) error { lines = append(lines, l); return nil }
	s.Happened = func(h Happening) {
		if _, ok := happened[h.Node+": "+h.Text]; !ok {
			happened[h.Node+": "+h.Text] = h.At
		}
	}
	r, err := s.playOn(context.Background(), c)
	require.NoError(t, err)
	return lines, happened, r
}

func of(lines []timeline.Line, kind timeline.Kind) (found []timeline.Line) {
	for _, l := range lines {
		if l.Kind == kind {
			found = append(found, l)
		}
	}
	return found
}

const silent = ": the kubelet falls silent"

func TestRepeatPlaysAgain(t *testing.T) {
	s := Scenario{Until: 20 * time.Minute, Events: []Event{{At: time.Minute, Repeat: &Repeat{
		Every: 5 * time.Minute, Events: []Event{
			{At: 0, Fail: &Nodes{Zone: "a", Count: 1, Seed: 3}},
			{At: 30 * time.Second, Recover: &Nodes{Zone: "a"}},
		},
	}}}, ReplaceAfter: -1}
	s.Zones = []Zone{{Name: "a", Nodes: 10}}
	_, happened, r := told(t, newCluster(clockOf(nil)), s)
	require.Equal(t, 4, r.KubeletFailures, happened)
	require.Empty(t, r.After)
	var different int
	for text := range happened {
		if strings.HasSuffix(text, silent) {
			different++
		}
	}
	require.Greater(t, different, 1, "a seed chooses others in each round")
}

// Pods are evicted from a partitioned node as from a silent one, while they run on. What is lost is the share of the
// clients that does not reach them.
func TestPartition(t *testing.T) {
	for clients, want := range map[float64]float64{1: 0, 0.75: 0.25, 0: 1} {
		s := Scenario{Until: 70 * time.Minute, Events: []Event{
			{At: 10 * time.Minute, Partition: &Partition{Nodes: Nodes{Names: []string{"a-000"}}, Clients: ptr(clients)}},
		}, ReplaceAfter: -1}
		s.Zones = []Zone{{Name: "a", Nodes: 3, PodsPerNode: 1, TolerationSeconds: ptr(TolerationSeconds(100000))}}
		_, _, r := told(t, newCluster(clockOf(nil)), s)
		require.InDelta(t, want, r.PodHoursLost, 1e-9, clients)
		require.Equal(t, 1, r.KubeletFailures)
		require.Equal(t, map[float64]int{1: 3, 0.75: 3, 0: 2}[clients], r.Workloads[0].LowestReady)
	}
	s := Scenario{Until: 30 * time.Minute, Events: []Event{
		{At: time.Minute, Partition: &Partition{Nodes: Nodes{Names: []string{"a-000"}}}},
		{At: 20 * time.Minute, Fail: named("a-000")},
		{At: 25 * time.Minute, Recover: named("a-000")},
	}, ReplaceAfter: -1}
	s.Zones = []Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, DaemonSetPodsPerNode: 1}}
	lines, happened, r := told(t, newCluster(clockOf(nil)), s)
	require.Equal(t, 20*time.Minute, happened["a-000"+silent], "a machine may die that is cut off")
	require.Len(t, of(lines, timeline.KindEvict), 2)
	require.Equal(t, 2, r.EvictedWhileRunning)
	require.Zero(t, r.EvictedFromLiveNodes)
	require.Zero(t, r.TerminatingAtEnd, "they end when the kubelet hears of it")
}

// A node whose replacement has not come at the end was replaced all the same.
func TestANodeIsReplacedBeforeTheEnd(t *testing.T) {
	s := Scenario{Until: 3 * time.Minute, Zones: []Zone{{Name: "a", Nodes: 2}}, Events: []Event{
		{At: 2 * time.Minute, ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{"a-000"}}, After: 90 * time.Second}},
		{At: 4 * time.Minute, Fail: named("a-001")},
	}}
	_, _, r := told(t, newCluster(clockOf(nil)), s)
	require.Equal(t, []int{2}, r.After)
}

func TestReplaceNode(t *testing.T) {
	s := Scenario{Until: 10 * time.Minute, Events: []Event{
		{At: time.Minute, Taint: &Taint{Nodes: Nodes{Names: []string{"a-000"}}, NodeTaint: NodeTaint{Key: "node.kubernetes.io/own", Effect: "NoSchedule"}}},
		{At: time.Minute, Cordon: named("a-000")},
		{At: 2 * time.Minute, ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{"a-000"}}, After: 90 * time.Second}},
	}}
	s.Zones = []Zone{{Name: "a", Nodes: 2, PodsPerNode: 1, DaemonSetPodsPerNode: 1, NodeFields: NodeFields{
		Labels: map[string]string{"pool": "x"}, Taints: []NodeTaint{{Key: "mine", Effect: "PreferNoSchedule"}}, Capacity: map[string]Quantity{"cpu": "3"},
	}}}
	c := newCluster(clockOf(nil))
	lines, happened, r := told(t, c, s)
	require.Equal(t, 2*time.Minute, happened["a-000: the node is deleted"])
	require.Equal(t, 210*time.Second, happened["a-000: a new node of this name registers"])
	require.Empty(t, of(lines, timeline.KindEvict))
	require.Equal(t, 1, r.ReturnedPods, "the ReplicaSet's, elsewhere")
	n, ok := c.Node("a-000")
	require.True(t, ok)
	require.Equal(t, "x", n.Labels["pool"])
	require.Equal(t, []v1.Taint{{Key: "mine", Effect: "PreferNoSchedule"}}, n.Spec.Taints)
	require.False(t, n.Spec.Unschedulable)
	require.True(t, n.CreationTimestamp.Time.Equal(Epoch.Add(210*time.Second)))
	keys := c.SortedPods("a-000")
	require.Len(t, keys, 1)
	require.Equal(t, "a-000-ds0", keys[0].Name)
	require.NotNil(t, c.nodes[c.nodeByID["a-000"]].Room)
}

// The pod garbage collector removes deleted pods from nodes that are out of service, and only from those.
func TestOutOfService(t *testing.T) {
	events := func(out bool) Scenario {
		s := Scenario{Until: 20 * time.Minute, Events: []Event{
			{At: time.Minute, Fail: named("a-000", "a-001")},
		}}
		if out {
			s.Events = append(s.Events, Event{At: 10*time.Minute + 7*time.Second, OutOfService: named("a-000")})
			s.Events = append(s.Events, Event{At: 10 * time.Minute, OutOfService: named("a-002")}) // which is Ready: its pods end as usual
		}
		s.Zones = []Zone{{Name: "a", Nodes: 6, PodsPerNode: 1, Pod: PodFields{Owner: "StatefulSet/db"}, TolerationSeconds: ptr(TolerationSeconds(0))}}
		return s
	}
	lines, _, r := told(t, newCluster(clockOf(nil)), events(false))
	require.Empty(t, of(lines, timeline.KindSchedule))
	require.Equal(t, 2, r.TerminatingAtEnd)
	lines, _, r = told(t, newCluster(clockOf(nil)), events(true))
	back := of(lines, timeline.KindSchedule)
	require.Len(t, back, 2)
	require.Equal(t, "a-002-p0", back[0].Pod)
	require.Equal(t, 10*time.Minute+10*time.Second, back[0].T)
	require.Equal(t, "a-000-p0", back[1].Pod)
	require.Equal(t, 10*time.Minute+30*time.Second, back[1].T, "the collector's next pass is at 10m20s, and 10 s later it is back")
	require.Equal(t, 1, r.TerminatingAtEnd)
	require.Equal(t, 1, r.Removed)
}

// budgeted makes a cluster in which at most so many pods of app x may be unavailable.
func budgeted(t *testing.T, most int) *cluster {
	c := newCluster(clockOf(nil))
	n := intstr.FromInt(most)
	require.NoError(t, c.AddBudget("default", "x", budgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, MaxUnavailable: &n}))
	return c
}

func appX(nodes int) []Zone {
	return []Zone{{Name: "a", Nodes: nodes, PodsPerNode: 2, DaemonSetPodsPerNode: 1, TolerationSeconds: ptr(TolerationSeconds(0)), Pod: PodFields{Labels: map[string]string{"app": "x"}}}}
}

func TestDrainAsksBudgets(t *testing.T) {
	drain := func(most int, more ...Event) (*cluster, *Report) {
		s := Scenario{Until: 10 * time.Minute, ReplaceAfter: 12 * time.Second, Zones: appX(3)}
		s.Events = append(more, Event{At: time.Minute, Drain: &Drain{Nodes: *named("a-000")}})
		c := budgeted(t, most)
		_, _, r := told(t, c, s)
		return c, r
	}
	c, r := drain(2)
	require.Equal(t, 2, r.Drained)
	require.Zero(t, r.Evicted, "the controller evicts nobody")
	require.Len(t, c.SortedPods("a-000"), 1, "the DaemonSet's stays")
	require.True(t, c.nodes[c.nodeByID["a-000"]].Unschedulable)
	require.InDelta(t, (24 * time.Second).Hours(), r.PodHoursLost, 1e-9, "both at once")
	require.Zero(t, r.Budgets[0].Below)

	// One at a time: the second is evicted at the first try after the first is back, 15 s later.
	_, r = drain(1)
	require.Equal(t, 2, r.Drained)
	require.InDelta(t, (24 * time.Second).Hours(), r.PodHoursLost, 1e-9)
	require.Equal(t, 5, r.Workloads[0].LowestReady)
	require.Zero(t, r.Budgets[0].Below)

	_, r = drain(0)
	require.Zero(t, r.Drained)
	_, r = drain(1, Event{At: 70 * time.Second, Uncordon: named("a-000")})
	require.Equal(t, 1, r.Drained, "who uncordons the node ends the drain")
}

// The eviction API respects budgets; deletions do not.
func TestEvictionAPI(t *testing.T) {
	evicted := func(api bool, most int) *Report {
		s := Scenario{Until: 20 * time.Minute, Zones: appX(4), ReplaceAfter: -1}
		s.AskBudgets = api
		s.Config = configured(func(c *evictor.Config) { c.Nodes.NodeEvictionRate = 1 })
		s.Events = []Event{{At: time.Minute, Taint: &Taint{Nodes: Nodes{Names: []string{"a-000"}}, NodeTaint: NodeTaint{Key: "k", Effect: "NoExecute"}}}}
		_, _, r := told(t, budgeted(t, most), s)
		return r
	}
	require.Equal(t, 2, evicted(false, 0).Evicted)
	require.Equal(t, 0, evicted(true, 0).Evicted)
	require.Equal(t, 1, evicted(true, 1).Evicted, "none comes back, so that the budget stays used up")
	require.Equal(t, 2, evicted(true, 2).Evicted)
	require.Zero(t, evicted(true, 1).Budgets[0].Below)
	require.NotZero(t, evicted(false, 1).Budgets[0].Below)
}

func TestAPIDownForKubelets(t *testing.T) {
	outage := func(whose string) *Report {
		s := Scenario{Until: 10 * time.Minute, Events: []Event{
			{At: 2 * time.Minute, API: &API{State: "down", For: whose}},
			{At: 4 * time.Minute, API: &API{State: "up", For: whose}},
		}, ReplaceAfter: -1}
		s.Zones = []Zone{{Name: "a", Nodes: 5, PodsPerNode: 1}}
		_, _, r := told(t, newCluster(clockOf(nil)), s)
		require.Zero(t, r.KubeletFailures, "no kubelet stopped")
		require.Zero(t, r.Evicted, "every zone is down, so that nobody is")
		require.Zero(t, r.PodHoursLost)
		return r
	}
	require.Equal(t, 5, outage("kubelets").UnknownNodes)
	require.Zero(t, outage("evictor").UnknownNodes)
	require.LessOrEqual(t, outage("").UnknownNodes, 5)
}

// Slow writes take effect that much later, and there are never more in flight than workers.
func TestSlowAPI(t *testing.T) {
	evictions := func(latency time.Duration, pods int) []timeline.Line {
		s := Scenario{Until: 20 * time.Minute, Events: []Event{
			{At: 2 * time.Minute, Taint: &Taint{Nodes: Nodes{Names: []string{"a-000"}}, NodeTaint: NodeTaint{Key: "k", Effect: "NoExecute"}}},
		}, ReplaceAfter: -1}
		if latency > 0 {
			s.Events = append([]Event{{At: time.Minute, API: &API{State: "slow", Latency: latency}}}, s.Events...)
		}
		s.Zones = []Zone{{Name: "a", Nodes: 5, PodsPerNode: pods}}
		lines, _, r := told(t, newCluster(clockOf(nil)), s)
		require.Zero(t, r.UnknownNodes, "kubelets renew late, and in time")
		return of(lines, timeline.KindEvict)
	}
	for _, l := range evictions(0, 40) {
		require.Equal(t, 2*time.Minute, l.T)
	}
	slow := evictions(3*time.Second, 40)
	require.Len(t, slow, 40)
	for i, l := range slow {
		require.Equal(t, 2*time.Minute+map[bool]time.Duration{true: 3 * time.Second, false: 6 * time.Second}[i < 32], l.T)
	}
}

// A kubelet's lease is renewed as late as the API is slow, and not at all if that takes as long as the interval.
func TestSlowAPIForKubelets(t *testing.T) {
	unknown := func(latency time.Duration) int {
		s := Scenario{Until: 10 * time.Minute, Events: []Event{
			{At: time.Minute, API: &API{State: "slow", Latency: latency, For: "kubelets"}},
		}, ReplaceAfter: -1}
		s.Zones = []Zone{{Name: "a", Nodes: 5}}
		_, _, r := told(t, newCluster(clockOf(nil)), s)
		return r.UnknownNodes
	}
	require.Zero(t, unknown(9*time.Second))
	require.Equal(t, 5, unknown(10*time.Second))
}

// Added nodes and pods have the same fields as those of a zone, and the fields decide which pod goes where.
func TestAddedNodesAndPodsHaveFields(t *testing.T) {
	pod := PodFields{Requests: map[string]Quantity{"cpu": "1"}, NodeSelector: map[string]string{"pool": "x"}, Owner: "ReplicaSet/web", Labels: map[string]string{"app": "web"},
		Tolerations: []Toleration{{Key: "only", Operator: "Exists"}}}
	s := Scenario{Until: 20 * time.Minute, Events: []Event{
		{At: time.Minute, AddNode: &AddNode{Name: "n", Zone: "a", DaemonSetPodsPerNode: 1, NodeFields: NodeFields{
			Labels: map[string]string{"pool": "x"}, Taints: []NodeTaint{{Key: "only", Value: "web", Effect: "NoSchedule"}}, Capacity: map[string]Quantity{"cpu": "2"},
		}}},
		{At: time.Minute, AddPod: &AddPod{Name: "p0", Node: "a-000", TolerationSeconds: ptr(TolerationSeconds(0)), PodFields: pod}},
		{At: time.Minute, AddPod: &AddPod{Name: "p1", Node: "a-000", TolerationSeconds: ptr(TolerationSeconds(0)), PodFields: pod}},
		{At: time.Minute, AddPod: &AddPod{Name: "p2", Node: "a-000", TolerationSeconds: ptr(TolerationSeconds(0)), PodFields: pod}},
		{At: 2 * time.Minute, Fail: named("a-000")},
	}}
	s.Zones = []Zone{{Name: "a", Nodes: 5}}
	c := newCluster(clockOf(nil))
	lines, _, r := told(t, c, s)
	for _, l := range of(lines, timeline.KindSchedule) {
		require.Equal(t, "n", l.Node)
	}
	require.Len(t, of(lines, timeline.KindSchedule), 2, "there is room for two")
	require.Equal(t, 1, r.PendingAtEnd)
	require.Equal(t, "default/ReplicaSet/web", r.Workloads[0].String())
	require.Len(t, c.SortedPods("n"), 3, "two of them, and the DaemonSet's")
	p, ok := c.Pod(c.SortedPods("n")[1])
	require.True(t, ok)
	require.Len(t, p.Spec.Tolerations, 3)
}

func TestTolerationsThatAreGivenStandForThoseThatAreAdded(t *testing.T) {
	for _, given := range [][]Toleration{
		{{Operator: "Exists"}}, {{Operator: "Exists", Effect: "NoExecute"}},
		{{Key: v1.TaintNodeNotReady, Operator: "Exists"}, {Key: v1.TaintNodeUnreachable, Operator: "Exists", Effect: "NoExecute"}},
	} {
		require.Len(t, tolerations(given, nil), len(given))
	}
	require.Len(t, tolerations([]Toleration{{Operator: "Exists", Effect: "NoSchedule"}}, nil), 3)
	require.Len(t, tolerations([]Toleration{{Key: v1.TaintNodeNotReady, Operator: "Exists"}}, nil), 2)
	require.Empty(t, tolerations(nil, ptr(NoToleration)))
}

// A timeline tells settings, events, placements and reasons beside writes.
func TestTimeline(t *testing.T) {
	s := Scenario{Until: 12 * time.Minute, Zones: []Zone{
		{Name: "a", Nodes: 3, PodsPerNode: 1, TolerationSeconds: ptr(TolerationSeconds(60)), NodeFields: NodeFields{Capacity: map[string]Quantity{"pods": "2"}}},
	}}
	s.Events = []Event{
		{At: time.Minute, Cordon: named("a-001", "a-002")},
		{At: 2 * time.Minute, Repeat: &Repeat{Every: time.Hour, Events: []Event{{At: 0, Fail: &Nodes{Zone: "a", Count: 1}}}}},
		{At: 6 * time.Minute, Uncordon: named("a-002")},
		{At: 7 * time.Minute, Drain: &Drain{Nodes: *named("a-002")}},
		{At: 8 * time.Minute, Recover: named("a-000")},
		{At: 11 * time.Minute, Restart: &Restart{}},
	}
	lines, _ := play(t, s)
	require.True(t, strings.HasPrefix(lines[0], `{"t":0.000,"kind":"settings","heartbeatInterval":10.000,"largeClusterSizeThreshold":50,`), lines[0])
	got := lines[1:]
	for i, l := range got {
		got[i] = strings.ReplaceAll(strings.ReplaceAll(l, "node.kubernetes.io/", ""), `"kind":`, "")
	}
	require.Equal(t, []string{
		`{"t":0.000,"zone","zone":":a","state":"Normal","rate":0.100,"ready":3,"notReady":0}`,
		`{"t":60.000,"event","nodes":["a-001","a-002"],"number":1,"text":"cordon 2 nodes"}`,
		`{"t":60.000,"taint","node":"a-001","key":"unschedulable","effect":"NoSchedule","op":"add"}`,
		`{"t":60.000,"taint","node":"a-002","key":"unschedulable","effect":"NoSchedule","op":"add"}`,
		`{"t":120.000,"event","inner":1,"nodes":["a-000"],"number":2,"round":1,"text":"fail 1 node of zone a"}`,
		`{"t":165.000,"condition","node":"a-000","type":"DiskPressure","status":"Unknown","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":165.000,"condition","node":"a-000","type":"MemoryPressure","status":"Unknown","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":165.000,"condition","node":"a-000","type":"PIDPressure","status":"Unknown","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":165.000,"condition","node":"a-000","type":"Ready","status":"Unknown","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":165.000,"podNotReady","node":"a-000","pod":"a-000-p0","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":165.000,"taint","node":"a-000","key":"unreachable","effect":"NoExecute","op":"add","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":165.000,"taint","node":"a-000","key":"unreachable","effect":"NoSchedule","op":"add","reason":"no heartbeat seen for 55s (grace 50s)"}`,
		`{"t":225.000,"evict","node":"a-000","pod":"a-000-p0","reason":"tolerated unreachable:NoExecute for 1m0s"}`,
		`{"t":235.000,"pending","pod":"a-000-p0","reason":"0/3 nodes: 2 cordoned, 1 not Ready"}`,
		`{"t":360.000,"event","nodes":["a-002"],"number":3,"text":"uncordon node a-002"}`,
		`{"t":360.000,"schedule","node":"a-002","pod":"a-000-p0-r1","was":"a-000-p0"}`,
		`{"t":360.000,"taint","node":"a-002","key":"unschedulable","effect":"NoSchedule","op":"remove"}`,
		`{"t":420.000,"drain","node":"a-002","pod":"a-000-p0-r1"}`,
		`{"t":420.000,"drain","node":"a-002","pod":"a-002-p0"}`,
		`{"t":420.000,"event","nodes":["a-002"],"number":4,"text":"drain node a-002"}`,
		`{"t":420.000,"taint","node":"a-002","key":"unschedulable","effect":"NoSchedule","op":"add"}`,
		`{"t":430.000,"pending","pod":"a-000-p0-r1","reason":"0/3 nodes: 2 cordoned, 1 not Ready"}`,
		`{"t":430.000,"pending","pod":"a-002-p0","reason":"0/3 nodes: 2 cordoned, 1 not Ready"}`,
		`{"t":480.000,"event","nodes":["a-000"],"number":5,"text":"recover node a-000"}`,
		`{"t":480.000,"schedule","node":"a-000","pod":"a-000-p0-r2","was":"a-000-p0-r1"}`,
		`{"t":480.000,"schedule","node":"a-000","pod":"a-002-p0-r1","was":"a-002-p0"}`,
		`{"t":480.000,"taint","node":"a-000","key":"unreachable","effect":"NoExecute","op":"remove","reason":"Ready is True"}`,
		`{"t":480.000,"taint","node":"a-000","key":"unreachable","effect":"NoSchedule","op":"remove","reason":"Ready is True"}`,
		`{"t":660.000,"event","number":6,"text":"restart"}`,
		`{"t":660.000,"zone","zone":":a","state":"Normal","rate":0.100,"ready":3,"notReady":0}`,
	}, got)
}

func TestTimelineTellsOfTraces(t *testing.T) {
	s := Scenario{Until: 3 * time.Minute, Traces: []Trace{{Zone: "a", Gap: time.Minute, Alive: []int{2, 0, 1}, Scale: 1}}, ReplaceAfter: -1}
	s.Zones = []Zone{{Name: "a", Nodes: 2}}
	lines, _, _ := told(t, newCluster(clockOf(nil)), s)
	var texts []string
	for _, l := range of(lines, timeline.KindEvent) {
		texts = append(texts, l.T.String()+l.More)
	}
	require.Equal(t, []string{
		`1m0s,"availability":1,"nodes":["a-000","a-001"],"text":"the trace fails nodes"`,
		`2m0s,"availability":1,"nodes":["a-000"],"text":"the trace recovers nodes"`,
	}, texts)
}
