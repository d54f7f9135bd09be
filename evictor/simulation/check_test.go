package simulation

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// sound returns a scenario without faults: zones r1:a (10 nodes with 2 pods and 1 DaemonSet pod each), r1:b (3 nodes)
// and :c (4 nodes, driven by a trace: 4 alive, and 1 from 10m on).
func sound() Scenario {
	return Scenario{
		Zones: []Zone{
			{Name: "a", Region: "r1", Nodes: 10, PodsPerNode: 2, DaemonSetPodsPerNode: 1},
			{Name: "b", Region: "r1", Nodes: 3, PodsPerNode: 1},
			{Name: "c", Nodes: 4},
		},
		Traces:       []Trace{{Zone: "c", Gap: 10 * time.Minute, Alive: []int{4, 1}}},
		Until:        time.Hour,
		ReplaceAfter: -1,
	}
}

// files returns a cluster with objects for sound: nodes f1 and f2 in zones r2:a and :, pods default/x on f1 and shop/y on
// f2, and shop/z, which is not bound. More pods are in namespace default, on f1.
func files(t *testing.T, more ...string) *cluster {
	c := newCluster(clockOf(nil))
	require.NoError(t, c.AddNode("f1", zone.Key{Region: "r2", Zone: "a"}))
	require.NoError(t, c.AddNode("f2", zone.Key{}))
	require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "shop", Name: "y"}, "f2", podSpec{}))
	for _, name := range append(more, "x") {
		require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "default", Name: name}, "f1", podSpec{}))
	}
	require.NoError(t, c.AddUnboundObject(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "z"}}, false))
	return c
}

func TestCheckPasses(t *testing.T) {
	s := sound()
	s.ReplaceAfter = 0
	s.LeaseInterval, s.StatusInterval, s.LeasesTogether = time.Second, time.Second, true
	s.Config = configured(func(c *evictor.Config) {
		c.Nodes.NodeMonitorPeriod, c.Nodes.NodeEvictionRate, c.Nodes.UnhealthyZoneThreshold = 0, 0, 1
	})
	at := func(minutes time.Duration, e Event) {
		e.At = minutes * time.Minute
		s.Events = append(s.Events, e)
	}
	at(70, Event{Restart: &Restart{}}) // after until
	at(9, Event{Condition: &Condition{Nodes{Names: []string{"c-003"}}, "Ready", "False"}})
	at(10, Event{Condition: &Condition{Nodes{Names: []string{"c-003"}}, "Ready", "True"}}) // the trace comes after the events
	at(11, Event{Condition: &Condition{Nodes{Names: []string{"c-000"}}, "Ready", "False"}})
	at(3, Event{Condition: &Condition{Nodes{Names: []string{"a-001"}}, "Ready", "Unknown"}}) // recovered by then, although listed before
	at(2, Event{Fail: &Nodes{Zone: "r1:a", Count: 10}})
	at(2, Event{Recover: &Nodes{Zone: "r1:a", Count: 2}})
	at(2, Event{Fail: &Nodes{Zone: "r2:a"}})
	at(2, Event{Fail: &Nodes{Zone: ":"}})
	at(2, Event{Fail: named("b-000", "b-000", "f1")})
	at(2, Event{Fail: named("b-001")})
	at(2, Event{Condition: &Condition{Nodes{Names: []string{"b-002"}}, "DiskPressure", "True"}})
	at(4, Event{Taint: &Taint{Nodes{Names: []string{"b-000"}}, NodeTaint{"k", "v", "NoExecute"}}})
	at(4, Event{Untaint: &Untaint{Nodes{Names: []string{"b-000"}}, "k", "PreferNoSchedule"}})
	at(4, Event{Cordon: named("b-000")})
	at(4, Event{Uncordon: named("b-000")})
	at(4, Event{DeleteNode: named("b-000")})
	at(4, Event{Fail: &Nodes{Zone: "b", Count: 2}})
	at(5, Event{AddNode: &AddNode{Name: "b-000", Zone: "b", Region: "r1", PodsPerNode: 2}})
	at(5, Event{Condition: &Condition{Nodes{Names: []string{"b-000"}}, "Ready", "False"}}) // a new node is alive
	at(5, Event{AddNode: &AddNode{Name: "d", Zone: "d", Region: "", PodsPerNode: 0}})
	at(5, Event{Fail: &Nodes{Zone: "d", Count: 1}})
	at(5, Event{AddPod: &AddPod{Name: "new", Node: "b-000", TolerationSeconds: ptr(TolerationSeconds(-1))}})
	at(6, Event{DeletePod: &Pod{"new"}})
	at(6, Event{DeletePod: &Pod{"new"}})                  // it has existed
	at(6, Event{AddPod: &AddPod{Name: "new", Node: "d"}}) // it was on a live node
	at(6, Event{DeletePod: &Pod{"shop/y"}})
	at(6, Event{DeletePod: &Pod{"shop/z"}})
	at(6, Event{ForceDelete: &Pod{"default/x"}})
	at(6, Event{AddPod: &AddPod{Name: "x", Node: "d"}})
	at(6, Event{DeletePod: &Pod{"a-000-p1"}})
	at(6, Event{DeletePod: &Pod{"a-000-ds0"}})
	at(6, Event{DeletePod: &Pod{"a-000-p1-r12"}})
	at(6, Event{DeletePod: &Pod{"b-000-p1"}})
	at(6, Event{DeleteNode: named("b-000")})
	at(6, Event{AddPod: &AddPod{Name: "b-000-p1", Node: "d"}}) // it went with its node
	at(7, Event{API: &API{State: "down"}})
	at(8, Event{API: &API{State: "up"}})
	require.NoError(t, checkedOn(files(t), s))
}

// TestCheckFaults changes a sound scenario in one way and expects exactly the faults named.
func TestCheckFaults(t *testing.T) {
	first := func(e Event) func(*Scenario) { // at time 0
		return func(s *Scenario) { s.Events = append(s.Events, e) }
	}
	event := func(e Event) func(*Scenario) {
		if e.At == 0 {
			e.At = time.Minute
		}
		return first(e)
	}
	for _, test := range []struct {
		name   string
		change func(*Scenario)
		want   []string
	}{
		{"no end", func(s *Scenario) { s.Until = 0 }, []string{"until is missing: it says when the scenario ends"}},
		{"an end before the start", func(s *Scenario) { s.Until = -1 }, []string{"until: -1ns is not positive"}},
		{"durations", func(s *Scenario) { s.LeaseInterval, s.StatusInterval = -5, -6 }, []string{
			"leaseInterval: -5ns is negative", "statusInterval: -6ns is negative",
		}},
		{"config", func(s *Scenario) {
			s.Config = configured(func(c *evictor.Config) { c.Nodes.NodeEvictionRate = math.NaN() })
		}, []string{
			"config: nodeEvictionRate: Invalid value: NaN: must be a finite number of at least 0",
		}},

		{"zone without name", func(s *Scenario) { s.Zones[1].Name = "" }, []string{`zone 2 (""): name is missing`}},
		{"zone sizes", func(s *Scenario) {
			s.Zones = append(s.Zones, Zone{Name: "big", Nodes: maxNodes + 1, PodsPerNode: -1, DaemonSetPodsPerNode: -2})
		}, []string{
			`zone 4 ("big"): nodes: 1000001 is more than 1000000`,
			`zone 4 ("big"): podsPerNode: -1 is negative`,
			`zone 4 ("big"): daemonSetPodsPerNode: -2 is negative`,
		}},
		{"zone without nodes", func(s *Scenario) {
			s.Zones = append(s.Zones, Zone{Name: "none"})
			event(Event{At: time.Hour, Fail: &Nodes{Zone: "none"}})(s)
			event(Event{AddNode: &AddNode{Name: "first", Zone: "late"}})(s)
			event(Event{At: time.Hour, Fail: &Nodes{Zone: "late"}})(s)
		}, []string{`event 1 (at 1h0m0s): fail: zone "none" does not exist: the zones are "c", "r1:a", "r1:b"`}},
		{"too much together", func(s *Scenario) {
			s.Zones = append(s.Zones, Zone{Name: "big", Nodes: 2000, PodsPerNode: maxPodsPerNode})
		}, []string{
			`zones: there are 2017 nodes and 200000033 pods in all; at most 1000000 and 100000000 are allowed`,
		}},
		{"same nodes", func(s *Scenario) { s.Zones = append(s.Zones, Zone{Name: "b", Region: "r2", Nodes: 5}) }, []string{
			`zone 4 ("b"): node b-000 already exists`,
		}},

		{"trace fields", func(s *Scenario) { s.Traces = []Trace{{Scale: -1, Gap: time.Second / 2}} }, []string{
			"trace 1: gap: 500ms is not a positive number of whole seconds", "trace 1: alive: there are no values", "trace 1: scale: -1 is negative", "trace 1: zone is missing",
		}},
		{"trace values", func(s *Scenario) { s.Traces[0].Alive = []int{1, -1, -2} }, []string{"trace 1: alive: value 1 (from 0) is -1, outside 0…2147483647"}},
		{"trace of no zone", func(s *Scenario) { s.Traces[0].Zone = "x" }, []string{`trace 1: zone "x" does not exist: the zones are "c", "r1:a", "r1:b"`}},
		{"zone driven twice", func(s *Scenario) { s.Traces = append(s.Traces, s.Traces[0]) }, []string{
			`trace 2: zone "c" already has a trace`,
		}},

		{"negative time", event(Event{At: -time.Second, Restart: &Restart{}}), []string{"event 1: at: -1s is negative"}},
		{"no action", event(Event{}), []string{"event 1 (at 1m0s): 0 actions (), not exactly one"}},
		{"two actions", event(Event{Restart: &Restart{}, Cordon: &Nodes{}}), []string{
			"event 1 (at 1m0s): 2 actions (cordon, restart), not exactly one",
		}},
		{"no selection", event(Event{Fail: &Nodes{}}), []string{
			"event 1 (at 1m0s): fail: nodes: nothing is selected: set names, a zone, labels, a count or a percentage",
		}},
		{"two selections", event(Event{Fail: &Nodes{Zone: "a", Names: []string{"a-000"}}}), []string{
			"event 1 (at 1m0s): fail: nodes: both names and a zone or labels are set",
		}},
		{"unknown zone", event(Event{At: 2 * time.Minute, Fail: &Nodes{Zone: "x"}}), []string{
			`event 1 (at 2m0s): fail: zone "x" does not exist: the zones are "c", "r1:a", "r1:b"`,
		}},
		{"unknown region", event(Event{Fail: &Nodes{Zone: "r3:a"}}), []string{`event 1 (at 1m0s): fail: zone "r3:a" does not exist: the zones are "c", "r1:a", "r1:b"`}},
		{"ambiguous zone", func(s *Scenario) {
			event(Event{Recover: &Nodes{Zone: "b"}})(s)
			event(Event{AddNode: &AddNode{Name: "other", Zone: "b", Region: "r2", PodsPerNode: 0}})(s)
			event(Event{Recover: &Nodes{Zone: "b"}})(s)
		}, []string{`event 3 (at 1m0s): recover: zone "b" is ambiguous: write one of "r1:b", "r2:b"`}},
		{"count beyond", event(Event{Fail: &Nodes{Zone: "a", Count: 11}}), []string{
			`event 1 (at 1m0s): fail: count: 11 nodes of zone a: there are only 10`,
		}},
		{"count beyond what is left", func(s *Scenario) {
			event(Event{DeleteNode: named("a-005")})(s)
			event(Event{Fail: &Nodes{Zone: "a", Count: 10}})(s)
		}, []string{`event 2 (at 1m0s): fail: count: 10 nodes of zone a: there are only 9`}},
		{"count negative", event(Event{Recover: &Nodes{Zone: "a", Count: -1}}), []string{"event 1 (at 1m0s): recover: count: -1 is negative"}},
		{"count without zone", event(Event{Fail: &Nodes{Names: []string{"a-000"}, Count: 1}}), []string{"event 1 (at 1m0s): fail: count is not allowed with names"}},
		{"unknown nodes", event(Event{Fail: named("x", "a-000", "y", "")}), []string{
			`event 1 (at 1m0s): fail: node x does not exist`, `event 1 (at 1m0s): fail: node y does not exist`, "event 1 (at 1m0s): fail: node is missing",
		}},
		{"driven zone", event(Event{Fail: &Nodes{Zone: "c"}}), []string{`event 1 (at 1m0s): fail: node c-000 is in zone ":c", which is driven by a trace`}},
		{"node of a driven zone", event(Event{Recover: named("c-000")}), []string{
			`event 1 (at 1m0s): recover: node c-000 is in zone ":c", which is driven by a trace`,
		}},

		{"condition on a failed node", func(s *Scenario) {
			event(Event{At: 2 * time.Minute, Condition: &Condition{Nodes{Names: []string{"a-001"}}, "Ready", "True"}})(s)
			event(Event{Fail: &Nodes{Zone: "a", Count: 1}})(s)
			event(Event{Fail: &Nodes{Zone: "a", Count: 1}})(s) // a-001, because a-000 does not qualify any more
			event(Event{Condition: &Condition{Nodes{Names: []string{"a-002"}}, "Ready", "True"}})(s)
		}, []string{`event 1 (at 2m0s): condition: node a-001 has failed: only a live kubelet reports conditions`}},
		{"condition on a node that a trace failed", func(s *Scenario) {
			event(Event{At: 10*time.Minute + 1, Condition: &Condition{Nodes{Names: []string{"c-001"}}, "Ready", "True"}})(s)
			first(Event{Condition: &Condition{Nodes{Names: []string{"c-001"}}, "Ready", "True"}})(s)
		}, []string{`event 1 (at 10m0.000000001s): condition: node c-001 has failed: only a live kubelet reports conditions`}},
		{"condition fields", event(Event{Condition: &Condition{Status: "true"}}), []string{
			"event 1 (at 1m0s): condition: nodes: nothing is selected: set names, a zone, labels, a count or a percentage",
			"event 1 (at 1m0s): condition: type is missing",
			`event 1 (at 1m0s): condition: status: "true" is not one of True, False and Unknown`,
		}},
		{"taint fields", event(Event{Taint: &Taint{Nodes: Nodes{Names: []string{"x"}}, NodeTaint: NodeTaint{Effect: "noexecute"}}}), []string{
			"event 1 (at 1m0s): taint: key is missing",
			`event 1 (at 1m0s): taint: effect: "noexecute" is not one of NoSchedule, PreferNoSchedule and NoExecute`,
			`event 1 (at 1m0s): taint: node x does not exist`,
		}},
		{"untaint effect", event(Event{Untaint: &Untaint{Nodes: Nodes{Names: []string{"a-000"}}, Key: "k"}}), []string{
			`event 1 (at 1m0s): untaint: effect: "" is not one of NoSchedule, PreferNoSchedule and NoExecute`,
		}},
		{"cordon", event(Event{Cordon: named("x")}), []string{`event 1 (at 1m0s): cordon: node x does not exist`}},
		{"uncordon", event(Event{Uncordon: named("x")}), []string{`event 1 (at 1m0s): uncordon: node x does not exist`}},
		{"delete twice", func(s *Scenario) {
			event(Event{DeleteNode: named("a-000")})(s)
			first(Event{DeleteNode: named("a-000")})(s)
		}, []string{`event 1 (at 1m0s): deleteNode: node a-000 does not exist`}},
		{"not yet", func(s *Scenario) {
			event(Event{AddNode: &AddNode{Name: "n"}})(s)
			first(Event{Cordon: named("n")})(s)
		}, []string{`event 2 (at 0s): cordon: node n does not exist`}},
		{"add an existing node", event(Event{AddNode: &AddNode{Name: "a-009"}}), []string{`event 1 (at 1m0s): addNode: node a-009 already exists`}},
		{"addNode fields", event(Event{AddNode: &AddNode{Zone: "z:1", Region: "-"}}), []string{
			"event 1 (at 1m0s): addNode: name is missing",
			`event 1 (at 1m0s): addNode: zone: "z:1": a valid label must be …`, `event 1 (at 1m0s): addNode: region: "-": a valid label must be …`,
		}},
		{"names that the API server refuses", func(s *Scenario) {
			event(Event{AddNode: &AddNode{Name: "N_1"}})(s)
			event(Event{AddPod: &AddPod{Name: "x.", Node: "a-000"}})(s)
			event(Event{Taint: &Taint{Nodes: Nodes{Names: []string{"a-000"}}, NodeTaint: NodeTaint{Key: "a b", Effect: "NoExecute"}}})(s)
		}, []string{
			`event 1 (at 1m0s): addNode: name: "N_1": a lowercase RFC 1123 …`, `event 2 (at 1m0s): addPod: name: "x.": a lowercase RFC 1123 …`,
			`event 3 (at 1m0s): taint: key: "a b": name part must …`,
		}},
		{"addNode pods", event(Event{AddNode: &AddNode{Name: "n", PodsPerNode: -1}}), []string{"event 1 (at 1m0s): addNode: podsPerNode: -1 is negative"}},
		{"addNode with pods that exist", func(s *Scenario) {
			event(Event{AddPod: &AddPod{Name: "n-p1", Node: "a-000"}})(s)
			event(Event{AddNode: &AddNode{Name: "n", PodsPerNode: 2}})(s)
		}, []string{`event 2 (at 1m0s): addNode: pod default/n-p1 already exists`}},
		{"addPod fields", event(Event{AddPod: &AddPod{}}), []string{"event 1 (at 1m0s): addPod: name is missing", "event 1 (at 1m0s): addPod: node is missing"}},
		{"addPod elsewhere", event(Event{AddPod: &AddPod{Name: "shop/x", Node: "x"}}), []string{
			`event 1 (at 1m0s): addPod: name: "shop/x": a lowercase RFC 1123 …`, `event 1 (at 1m0s): addPod: node x does not exist`,
		}},
		{"addPod twice", func(s *Scenario) {
			event(Event{AddPod: &AddPod{Name: "p", Node: "a-000"}})(s)
			event(Event{AddPod: &AddPod{Name: "p", Node: "a-001"}})(s)
		}, []string{`event 2 (at 1m0s): addPod: pod default/p already exists`}},
		{"addPod of a generated name", event(Event{AddPod: &AddPod{Name: "a-000-ds0", Node: "a-000"}}), []string{
			`event 1 (at 1m0s): addPod: pod default/a-000-ds0 already exists`,
		}},
		{"addPod on a node that is gone", func(s *Scenario) {
			event(Event{DeleteNode: named("a-000")})(s)
			event(Event{AddPod: &AddPod{Name: "p", Node: "a-000"}})(s)
		}, []string{`event 2 (at 1m0s): addPod: node a-000 does not exist`}},
		{"names that only appear elsewhere", func(s *Scenario) {
			event(Event{AddNode: &AddNode{Name: "n", Zone: "n"}})(s)
			event(Event{Fail: &Nodes{Names: []string{"n", "m"}}})(s)
			event(Event{Fail: &Nodes{Zone: "n"}})(s)
			event(Event{Fail: &Nodes{Zone: "m"}})(s)
			event(Event{AddPod: &AddPod{Name: "p", Node: "n"}})(s)
			event(Event{DeletePod: &Pod{"p"}})(s)
			event(Event{DeletePod: &Pod{"n-p0"}})(s)
			event(Event{ForceDelete: &Pod{"m-p0"}})(s)
		}, []string{
			`event 2 (at 1m0s): fail: node m does not exist`, `event 4 (at 1m0s): fail: zone "m" does not exist: the zones are "c", "r1:a", "r1:b"`,
			`event 8 (at 1m0s): forceDelete: pod m-p0 does not exist`,
		}},
		{"unknown pods", func(s *Scenario) {
			for _, name := range []string{"", "x", "a-000-p2", "a-000-ds1", "a-000-p01", "a-000-p-1", "a-000-q1", "shop/a-000-p0", "a-000-p0-r1"} {
				event(Event{DeletePod: &Pod{name}})(s)
			}
		}, []string{
			"event 1 (at 1m0s): deletePod: name is missing", `event 2 (at 1m0s): deletePod: pod x does not exist`,
			`event 3 (at 1m0s): deletePod: pod a-000-p2 does not exist`, `event 4 (at 1m0s): deletePod: pod a-000-ds1 does not exist`,
			`event 5 (at 1m0s): deletePod: pod a-000-p01 does not exist`, `event 6 (at 1m0s): deletePod: pod a-000-p-1 does not exist`,
			`event 7 (at 1m0s): deletePod: pod a-000-q1 does not exist`, `event 8 (at 1m0s): deletePod: pod shop/a-000-p0 does not exist`,
			`event 9 (at 1m0s): deletePod: pod a-000-p0-r1 does not exist`,
		}},
		{"api state", event(Event{API: &API{State: "off"}}), []string{`event 1 (at 1m0s): api: state: "off" is not one of down, slow, failing and up`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := sound()
			test.change(&s)
			err := checked(s)
			require.Error(t, err)
			got := strings.Split(err.Error(), "\n")
			for i, line := range got {
				for _, rule := range []string{"a valid label must be", "a lowercase RFC 1123", "name part must"} {
					if start, _, ok := strings.Cut(line, rule); ok {
						got[i] = start + rule + " …"
					}
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestCheckFaultsOfObjects(t *testing.T) {
	s := sound()
	c := files(t, "b-001-p0")
	require.NoError(t, c.AddNode("a-003", zone.Key{}))
	s.Events = []Event{{At: 0, Fail: &Nodes{Zone: "a"}}}
	require.EqualError(t, checkedOn(c, s), strings.Join([]string{
		`zone 1 ("a"): node a-003 already exists`,
		`zone 2 ("b"): pod default/b-001-p0 already exists`,
		`event 1 (at 0s): fail: zone "a" is ambiguous: write one of "r1:a", "r2:a"`,
	}, "\n"))
}

// TestFaultsLeadToTheirFields: a program can point at the field in the text that it was read from.
func TestFaultsLeadToTheirFields(t *testing.T) {
	s := sound()
	s.Until = -1
	s.Config = configured(func(c *evictor.Config) { c.Nodes.NodeEvictionRate, c.Nodes.UnhealthyZoneThreshold = -1, 55 })
	s.Traces[0].Scale = -1
	s.Events = []Event{
		{At: time.Minute, Fail: named("a-000", "x")},
		{At: -1, Restart: &Restart{}},
		{At: 0, Repeat: &Repeat{Every: time.Minute, Events: []Event{{At: 0, Fail: &Nodes{Zone: "x"}}}}},
		{At: time.Minute, AddPod: &AddPod{Name: "p", Node: "a-000", PodFields: PodFields{Labels: map[string]string{"a.b/c": "%"}}}},
	}
	var invalid invalidError
	require.ErrorAs(t, checked(s), &invalid)
	got := make(map[string]bool)
	for _, f := range invalid {
		got[strings.Join(f.Path, " ")] = true
	}
	require.Equal(t, map[string]bool{
		"until": true, "config nodeEvictionRate": true, "config unhealthyZoneThreshold": true, "traces 1 scale": true, "events 1 fail nodes 2": true,
		"events 2 at": true, "events 3 repeat events 1 fail zone": true, "events 4 addPod labels a.b/c": true,
	}, got)
	s = sound()
	s.Events = []Event{{At: time.Minute, DeleteNode: named("a-000")}, {At: 2 * time.Minute, Cordon: named("a-000")}}
	require.ErrorAs(t, checked(s), &invalid)
	require.Equal(t, []string{"events", "2", "cordon"}, invalid[0].Path)
}
