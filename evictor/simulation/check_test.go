package simulation

import (
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func ptr[T any](v T) *T { return &v }

func after(d time.Duration) *Duration { return ptr(Duration(d)) }

// inventory is objects of files, in the given order.
type inventory struct {
	nodes []struct {
		name string
		key  ZoneKey
	}
	pods map[podName]string
}

func (i *inventory) node(name, region, zone string) {
	i.nodes = append(i.nodes, struct {
		name string
		key  ZoneKey
	}{name, ZoneKey{region, zone}})
}

func (i *inventory) Nodes() iter.Seq2[string, ZoneKey] {
	return func(yield func(string, ZoneKey) bool) {
		for _, n := range i.nodes {
			if !yield(n.name, n.key) {
				return
			}
		}
	}
}

func (i *inventory) Pod(namespace, name string) (string, bool) {
	node, ok := i.pods[podName{namespace, name}]
	return node, ok
}

// sound returns a scenario without faults: zones r1:a (10 nodes with 2 pods and 1 DaemonSet pod each), r1:b (3 nodes)
// and :c (4 nodes, driven by a trace: 4 alive, and 1 from 10m on).
func sound() *Scenario {
	trace, err := NewTrace(600, []int{4, 1})
	if err != nil {
		panic(err)
	}
	return &Scenario{
		Cluster: Cluster{Zones: []Zone{
			{Name: "a", Region: "r1", Nodes: 10, PodsPerNode: 2, DaemonSetPodsPerNode: 1},
			{Name: "b", Region: "r1", Nodes: 3, PodsPerNode: 1},
			{Name: "c", Nodes: 4},
		}},
		Availability: []ZoneTrace{{Zone: ptr("c"), File: "c.json", Trace: trace}},
		Until:        after(time.Hour),
	}
}

// files returns objects of files for sound: nodes f1 and f2 in zones r2:a and :, pods default/x on f1 and shop/y on f2,
// and shop/z, which is not bound.
func files() *inventory {
	i := &inventory{pods: map[podName]string{{"default", "x"}: "f1", {"shop", "y"}: "f2", {"shop", "z"}: ""}}
	i.node("f1", "r2", "a")
	i.node("f2", "", "")
	return i
}

func TestCheckPasses(t *testing.T) {
	s := sound()
	s.Cluster.Files = []string{"nodes.yaml"}
	s.Reschedule = &Reschedule{After: after(0)}
	s.Heartbeat = Heartbeat{Interval: after(time.Second), StatusInterval: after(time.Second), Spread: ptr(SpreadNone)}
	s.Config = Config{
		NodeMonitorPeriod: after(0), NodeMonitorGracePeriod: after(0), NodeEvictionRate: ptr(0.0),
		LargeClusterSizeThreshold: ptr(0), UnhealthyZoneThreshold: ptr(1.0),
	}
	at := func(minutes time.Duration, e Event) {
		e.At = after(minutes * time.Minute)
		s.Events = append(s.Events, e)
	}
	at(70, Event{Restart: &Restart{}}) // after until
	at(9, Event{Condition: &Condition{Selector{Node: "c-003"}, "Ready", "False"}})
	at(10, Event{Condition: &Condition{Selector{Node: "c-003"}, "Ready", "True"}}) // the trace comes after the events
	at(11, Event{Condition: &Condition{Selector{Node: "c-000"}, "Ready", "False"}})
	at(3, Event{Condition: &Condition{Selector{Node: "a-001"}, "Ready", "Unknown"}}) // recovered by then, although listed before
	at(2, Event{Fail: &Selector{Zone: ptr("r1:a"), Count: ptr(10)}})
	at(2, Event{Recover: &Selector{Zone: ptr("r1:a"), Count: ptr(2)}})
	at(2, Event{Fail: &Selector{Zone: ptr("r2:a")}})
	at(2, Event{Fail: &Selector{Zone: ptr("")}})
	at(2, Event{Fail: &Selector{Nodes: []string{"b-000", "b-000", "f1"}}})
	at(2, Event{Fail: &Selector{Node: "b-001"}})
	at(2, Event{Fail: &Selector{Zone: ptr("b"), Count: ptr(0)}})
	at(2, Event{Condition: &Condition{Selector{Node: "b-002"}, "DiskPressure", "True"}})
	at(4, Event{Taint: &Taint{Selector{Node: "b-000"}, "k", "v", "NoExecute"}})
	at(4, Event{Untaint: &Untaint{Selector{Node: "b-000"}, "k", "PreferNoSchedule"}})
	at(4, Event{Cordon: &Selector{Node: "b-000"}})
	at(4, Event{Uncordon: &Selector{Node: "b-000"}})
	at(4, Event{DeleteNode: &Selector{Node: "b-000"}})
	at(4, Event{Fail: &Selector{Zone: ptr("b"), Count: ptr(2)}})
	at(5, Event{AddNode: &AddNode{Name: "b-000", Zone: "b", Region: "r1", PodsPerNode: 2}})
	at(5, Event{Condition: &Condition{Selector{Node: "b-000"}, "Ready", "False"}}) // a new node is alive
	at(5, Event{AddNode: &AddNode{Name: "d", Zone: "d", Region: "", PodsPerNode: 0}})
	at(5, Event{Fail: &Selector{Zone: ptr("d"), Count: ptr(1)}})
	at(5, Event{AddPod: &AddPod{Name: "new", Node: "d", TolerationSeconds: ptr(TolerationSeconds(-1))}})
	at(6, Event{DeletePod: &DeletePod{"new"}})
	at(6, Event{DeletePod: &DeletePod{"new"}}) // it has existed
	at(6, Event{AddPod: &AddPod{Name: "new", Node: "d"}})
	at(6, Event{DeletePod: &DeletePod{"shop/y"}})
	at(6, Event{DeletePod: &DeletePod{"shop/z"}})
	at(6, Event{DeletePod: &DeletePod{"default/x"}})
	at(6, Event{AddPod: &AddPod{Name: "x", Node: "d"}})
	at(6, Event{DeletePod: &DeletePod{"a-000-p1"}})
	at(6, Event{DeletePod: &DeletePod{"a-000-ds0"}})
	at(6, Event{DeletePod: &DeletePod{"a-000-p1-r12"}})
	at(6, Event{DeletePod: &DeletePod{"b-000-p1"}})
	at(6, Event{DeleteNode: &Selector{Node: "b-000"}})
	at(6, Event{AddPod: &AddPod{Name: "b-000-p1", Node: "d"}}) // it went with its node
	at(7, Event{API: &API{State: "down"}})
	at(8, Event{API: &API{State: "up"}})
	require.NoError(t, s.Check(files()))
}

// TestCheckFaults changes a sound scenario in one way and expects exactly the faults named.
func TestCheckFaults(t *testing.T) {
	minute := after(time.Minute)
	event := func(e Event) func(*Scenario) {
		return func(s *Scenario) {
			if e.At == nil {
				e.At = minute
			}
			s.Events = append(s.Events, e)
		}
	}
	for _, test := range []struct {
		name   string
		change func(*Scenario)
		want   []string
	}{
		{"until missing", func(s *Scenario) { s.Until = nil }, []string{"until is missing"}},
		{"until negative", func(s *Scenario) { s.Until = after(-1) }, []string{"until: -1ns is negative"}},
		{"durations", func(s *Scenario) {
			s.Config.NodeMonitorPeriod, s.Config.NodeMonitorGracePeriod = after(-1), after(-2)
			s.Config.NodeStartupGracePeriod, s.Config.PodEvictionTimeout = after(-3), after(-4)
			s.Heartbeat.Interval, s.Heartbeat.StatusInterval = after(0), after(-6)
			s.Reschedule = &Reschedule{After: after(-7)}
		}, []string{
			"config: nodeMonitorPeriod: -1ns is negative", "config: nodeMonitorGracePeriod: -2ns is negative",
			"config: nodeStartupGracePeriod: -3ns is negative", "config: podEvictionTimeout: -4ns is negative",
			"heartbeat: interval: 0s is not positive", "heartbeat: statusInterval: -6ns is not positive",
			"reschedule: after: -7ns is negative",
		}},
		{"rates", func(s *Scenario) {
			s.Config.NodeEvictionRate, s.Config.SecondaryNodeEvictionRate = ptr(-0.1), ptr(math.NaN())
		}, []string{
			"config: nodeEvictionRate: -0.1 is not a rate: it must be finite and not negative",
			"config: secondaryNodeEvictionRate: NaN is not a rate: it must be finite and not negative",
		}},
		{"infinite rate", func(s *Scenario) { s.Config.NodeEvictionRate = ptr(math.Inf(1)) }, []string{
			"config: nodeEvictionRate: +Inf is not a rate: it must be finite and not negative",
		}},
		{"threshold 0", func(s *Scenario) { s.Config.UnhealthyZoneThreshold = ptr(0.0) }, []string{"config: unhealthyZoneThreshold: 0 is outside (0,1]"}},
		{"threshold above 1", func(s *Scenario) { s.Config.UnhealthyZoneThreshold = ptr(1.01) }, []string{"config: unhealthyZoneThreshold: 1.01 is outside (0,1]"}},
		{"threshold NaN", func(s *Scenario) { s.Config.UnhealthyZoneThreshold = ptr(math.NaN()) }, []string{"config: unhealthyZoneThreshold: NaN is outside (0,1]"}},
		{"large zone", func(s *Scenario) { s.Config.LargeClusterSizeThreshold = ptr(-1) }, []string{"config: largeClusterSizeThreshold: -1 is negative"}},
		{"spread", func(s *Scenario) { s.Heartbeat.Spread = ptr(Spread("odd")) }, []string{`heartbeat: spread: "odd" is neither even nor none`}},

		{"zone without name", func(s *Scenario) { s.Cluster.Zones[1].Name = "" }, []string{`cluster: zone 2 (""): name is missing`}},
		{"zone sizes", func(s *Scenario) {
			s.Cluster.Zones = append(s.Cluster.Zones, Zone{Name: "big", Nodes: MaxNodes + 1, PodsPerNode: -1, DaemonSetPodsPerNode: -2})
		}, []string{
			`cluster: zone 4 ("big"): nodes: 1000001 is more than 1000000`,
			`cluster: zone 4 ("big"): podsPerNode: -1 is negative`,
			`cluster: zone 4 ("big"): daemonSetPodsPerNode: -2 is negative`,
		}},
		{"zone without nodes", func(s *Scenario) {
			s.Cluster.Zones = append(s.Cluster.Zones, Zone{Name: "none"})
			event(Event{At: after(time.Hour), Fail: &Selector{Zone: ptr("none")}})(s)
			event(Event{AddNode: &AddNode{Name: "first", Zone: "late"}})(s)
			event(Event{At: after(time.Hour), Fail: &Selector{Zone: ptr("late")}})(s)
		}, []string{`event 1 (at 1h0m0s): fail: zone "none" does not exist`}},
		{"too much together", func(s *Scenario) {
			s.Cluster.Zones = append(s.Cluster.Zones, Zone{Name: "big", Nodes: 2000, PodsPerNode: MaxPodsPerNode})
		}, []string{
			`cluster: zone 4 ("big"): this makes 2017 nodes and 200000033 pods in zones; at most 1000000 and 100000000 are allowed`,
		}},
		{"same nodes", func(s *Scenario) { s.Cluster.Zones = append(s.Cluster.Zones, Zone{Name: "b", Region: "r2", Nodes: 5}) }, []string{
			`cluster: zone 4 ("b"): node "b-000" already exists (and 2 more)`,
		}},

		{"trace fields", func(s *Scenario) { s.Availability = []ZoneTrace{{Scale: ptr(0)}} }, []string{
			"availability 1: file is missing", "availability 1: scale: 0 is not positive", "availability 1: zone is missing",
		}},
		{"trace not loaded", func(s *Scenario) { s.Availability[0].Trace = nil }, []string{`availability 1: the trace of file "c.json" is not loaded`}},
		{"trace of no zone", func(s *Scenario) { s.Availability[0].Zone = ptr("x") }, []string{`availability 1: zone "x" does not exist`}},
		{"zone driven twice", func(s *Scenario) { s.Availability = append(s.Availability, s.Availability[0]) }, []string{
			`availability 2: zone "c" already has a trace`,
		}},

		{"no time", func(s *Scenario) { s.Events = []Event{{Restart: &Restart{}}} }, []string{"event 1: at is missing"}},
		{"negative time", event(Event{At: after(-time.Second), Restart: &Restart{}}), []string{"event 1: at: -1s is negative"}},
		{"no action", event(Event{}), []string{"event 1 (at 1m0s): has no action"}},
		{"two actions", event(Event{Restart: &Restart{}, Cordon: &Selector{}}), []string{
			"event 1 (at 1m0s): has 2 actions (cordon, restart), not exactly one",
		}},
		{"no selection", event(Event{Fail: &Selector{}}), []string{
			"event 1 (at 1m0s): fail: 0 of zone (or selector), node and nodes are set, not exactly one",
		}},
		{"two selections", event(Event{Fail: &Selector{Zone: ptr("a"), Node: "a-000"}}), []string{
			"event 1 (at 1m0s): fail: 2 of zone (or selector), node and nodes are set, not exactly one",
		}},
		{"unknown zone", event(Event{At: after(2 * time.Minute), Fail: &Selector{Zone: ptr("x")}}), []string{
			`event 1 (at 2m0s): fail: zone "x" does not exist`,
		}},
		{"unknown region", event(Event{Fail: &Selector{Zone: ptr("r3:a")}}), []string{`event 1 (at 1m0s): fail: zone "r3:a" does not exist`}},
		{"ambiguous zone", func(s *Scenario) {
			event(Event{Recover: &Selector{Zone: ptr("b")}})(s)
			event(Event{AddNode: &AddNode{Name: "other", Zone: "b", Region: "r2", PodsPerNode: 0}})(s)
			event(Event{Recover: &Selector{Zone: ptr("b")}})(s)
		}, []string{`event 3 (at 1m0s): recover: zone "b" is ambiguous: write one of "r1:b", "r2:b"`}},
		{"count beyond", event(Event{Fail: &Selector{Zone: ptr("a"), Count: ptr(11)}}), []string{
			`event 1 (at 1m0s): fail: count: 11 is more than the 10 nodes of zone "a"`,
		}},
		{"count beyond what is left", func(s *Scenario) {
			event(Event{DeleteNode: &Selector{Node: "a-005"}})(s)
			event(Event{Fail: &Selector{Zone: ptr("a"), Count: ptr(10)}})(s)
		}, []string{`event 2 (at 1m0s): fail: count: 10 is more than the 9 nodes of zone "a"`}},
		{"count negative", event(Event{Recover: &Selector{Zone: ptr("a"), Count: ptr(-1)}}), []string{"event 1 (at 1m0s): recover: count: -1 is negative"}},
		{"count without zone", event(Event{Fail: &Selector{Node: "a-000", Count: ptr(1)}}), []string{"event 1 (at 1m0s): fail: count is allowed only with zone or selector"}},
		{"unknown nodes", event(Event{Fail: &Selector{Nodes: []string{"x", "a-000", "y", ""}}}), []string{
			`event 1 (at 1m0s): fail: node "x" does not exist`, `event 1 (at 1m0s): fail: node "y" does not exist`, "event 1 (at 1m0s): fail: node is missing",
		}},
		{"driven zone", event(Event{Fail: &Selector{Zone: ptr("c")}}), []string{`event 1 (at 1m0s): fail: zone "c" is driven by a trace`}},
		{"node of a driven zone", event(Event{Recover: &Selector{Node: "c-000"}}), []string{
			`event 1 (at 1m0s): recover: node "c-000" is in zone ":c", which is driven by a trace`,
		}},

		{"condition on a failed node", func(s *Scenario) {
			event(Event{At: after(2 * time.Minute), Condition: &Condition{Selector{Node: "a-001"}, "Ready", "True"}})(s)
			event(Event{Fail: &Selector{Zone: ptr("a"), Count: ptr(1)}})(s)
			event(Event{Fail: &Selector{Zone: ptr("a"), Count: ptr(1)}})(s) // a-001, because a-000 does not qualify any more
			event(Event{Condition: &Condition{Selector{Node: "a-002"}, "Ready", "True"}})(s)
		}, []string{`event 1 (at 2m0s): condition: node "a-001" has failed: only a live kubelet reports conditions`}},
		{"condition on a node that a trace failed", func(s *Scenario) {
			event(Event{At: after(10*time.Minute + 1), Condition: &Condition{Selector{Node: "c-001"}, "Ready", "True"}})(s)
			event(Event{At: after(0), Condition: &Condition{Selector{Node: "c-001"}, "Ready", "True"}})(s)
		}, []string{`event 1 (at 10m0.000000001s): condition: node "c-001" has failed: only a live kubelet reports conditions`}},
		{"condition fields", event(Event{Condition: &Condition{Status: "true"}}), []string{
			"event 1 (at 1m0s): condition: type is missing",
			`event 1 (at 1m0s): condition: status: "true" is not one of True, False and Unknown`,
			"event 1 (at 1m0s): condition: 0 of zone (or selector), node and nodes are set, not exactly one",
		}},
		{"taint fields", event(Event{Taint: &Taint{Selector: Selector{Node: "x"}, Effect: "noexecute"}}), []string{
			`event 1 (at 1m0s): taint: node "x" does not exist`, "event 1 (at 1m0s): taint: key is missing",
			`event 1 (at 1m0s): taint: effect: "noexecute" is not one of NoSchedule, PreferNoSchedule and NoExecute`,
		}},
		{"untaint effect", event(Event{Untaint: &Untaint{Selector: Selector{Node: "a-000"}, Key: "k"}}), []string{
			`event 1 (at 1m0s): untaint: effect: "" is not one of NoSchedule, PreferNoSchedule and NoExecute`,
		}},
		{"cordon", event(Event{Cordon: &Selector{Node: "x"}}), []string{`event 1 (at 1m0s): cordon: node "x" does not exist`}},
		{"uncordon", event(Event{Uncordon: &Selector{Node: "x"}}), []string{`event 1 (at 1m0s): uncordon: node "x" does not exist`}},
		{"delete twice", func(s *Scenario) {
			event(Event{DeleteNode: &Selector{Node: "a-000"}})(s)
			event(Event{At: after(0), DeleteNode: &Selector{Node: "a-000"}})(s)
		}, []string{`event 1 (at 1m0s): deleteNode: node "a-000" no longer exists: event 2 deletes it`}},
		{"not yet", func(s *Scenario) {
			event(Event{AddNode: &AddNode{Name: "n"}})(s)
			event(Event{At: after(0), Cordon: &Selector{Node: "n"}})(s)
		}, []string{`event 2 (at 0s): cordon: node "n" does not exist`}},
		{"add an existing node", event(Event{AddNode: &AddNode{Name: "a-009"}}), []string{`event 1 (at 1m0s): addNode: node "a-009" already exists`}},
		{"addNode fields", event(Event{AddNode: &AddNode{Zone: "z:1", Region: "-"}}), []string{
			`event 1 (at 1m0s): addNode: zone: "z:1": a valid label must be …`, `event 1 (at 1m0s): addNode: region: "-": a valid label must be …`,
			"event 1 (at 1m0s): addNode: name is missing",
		}},
		{"names that the API server refuses", func(s *Scenario) {
			event(Event{AddNode: &AddNode{Name: "N_1"}})(s)
			event(Event{AddPod: &AddPod{Name: "x.", Node: "a-000"}})(s)
			event(Event{Taint: &Taint{Selector: Selector{Node: "a-000"}, Key: "a b", Effect: "NoExecute"}})(s)
		}, []string{
			`event 1 (at 1m0s): addNode: name: "N_1": a lowercase RFC 1123 …`, `event 2 (at 1m0s): addPod: name: "x.": a lowercase RFC 1123 …`,
			`event 3 (at 1m0s): taint: key: "a b": name part must …`,
		}},
		{"addNode pods", event(Event{AddNode: &AddNode{Name: "n", PodsPerNode: -1}}), []string{"event 1 (at 1m0s): addNode: podsPerNode: -1 is negative"}},
		{"addNode with pods that exist", func(s *Scenario) {
			event(Event{AddPod: &AddPod{Name: "n-p1", Node: "a-000"}})(s)
			event(Event{AddNode: &AddNode{Name: "n", PodsPerNode: 2}})(s)
		}, []string{`event 2 (at 1m0s): addNode: podsPerNode: pod "n-p1" already exists`}},
		{"addPod fields", event(Event{AddPod: &AddPod{}}), []string{"event 1 (at 1m0s): addPod: node is missing", "event 1 (at 1m0s): addPod: name is missing"}},
		{"addPod elsewhere", event(Event{AddPod: &AddPod{Name: "shop/x", Node: "x"}}), []string{
			`event 1 (at 1m0s): addPod: node "x" does not exist`,
			`event 1 (at 1m0s): addPod: name: "shop/x" contains a slash; added pods are in namespace default`,
		}},
		{"addPod twice", func(s *Scenario) {
			event(Event{AddPod: &AddPod{Name: "p", Node: "a-000"}})(s)
			event(Event{AddPod: &AddPod{Name: "p", Node: "a-000"}})(s)
			event(Event{AddPod: &AddPod{Name: "a-000-p1", Node: "a-000"}})(s)
			event(Event{AddPod: &AddPod{Name: "a-000-ds0", Node: "a-000"}})(s)
		}, []string{
			`event 2 (at 1m0s): addPod: pod "p" already exists`, `event 3 (at 1m0s): addPod: pod "a-000-p1" already exists`,
			`event 4 (at 1m0s): addPod: pod "a-000-ds0" already exists`,
		}},
		{"unknown pods", func(s *Scenario) {
			for _, name := range []string{"", "x", "a-000-p2", "a-000-ds1", "a-000-p01", "a-000-p-1", "a-000-q1", "shop/a-000-p0", "a-000-p0-r1"} {
				event(Event{DeletePod: &DeletePod{name}})(s)
			}
		}, []string{
			"event 1 (at 1m0s): deletePod: name is missing", `event 2 (at 1m0s): deletePod: pod "x" does not exist`,
			`event 3 (at 1m0s): deletePod: pod "a-000-p2" does not exist`, `event 4 (at 1m0s): deletePod: pod "a-000-ds1" does not exist`,
			`event 5 (at 1m0s): deletePod: pod "a-000-p01" does not exist`, `event 6 (at 1m0s): deletePod: pod "a-000-p-1" does not exist`,
			`event 7 (at 1m0s): deletePod: pod "a-000-q1" does not exist`, `event 8 (at 1m0s): deletePod: pod "shop/a-000-p0" does not exist`,
			`event 9 (at 1m0s): deletePod: pod "a-000-p0-r1" does not exist`,
		}},
		{"api state", event(Event{API: &API{State: "off"}}), []string{`event 1 (at 1m0s): api: state: "off" is not one of down, slow and up`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := sound()
			test.change(s)
			err := s.Check(nil)
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

func TestCheckFaultsOfFiles(t *testing.T) {
	s := sound()
	s.Cluster.Files = []string{"objects.json"}
	i := files()
	i.node("f1", "", "")
	i.node("a-003", "", "")
	i.node("f1", "", "")
	i.pods[podName{"default", "b-001-p0"}] = "f1"
	i.pods[podName{"default", "a-009-ds0"}] = "f1"
	s.Events = []Event{
		{At: after(0), Fail: &Selector{Zone: ptr("a")}},
		{At: after(0), AddPod: &AddPod{Name: "x", Node: "f1"}},
	}
	require.EqualError(t, s.Check(i), strings.Join([]string{
		`cluster: files: node "f1" already exists (and 1 more)`,
		`cluster: zone 1 ("a"): node "a-003" already exists`,
		`cluster: zone 1 ("a"): pod "a-009-ds0" already exists`,
		`cluster: zone 2 ("b"): pod "b-001-p0" already exists`,
		`event 1 (at 0s): fail: zone "a" is ambiguous: write one of "r2:a", "r1:a"`,
		`event 2 (at 0s): addPod: pod "x" already exists`,
	}, "\n"))
}
