package simulation

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// soundActions returns valid events of the actions, with what they can choose.
func soundActions() []Event {
	choose := func(l LabelSelector) *LabelSelector { return &l }
	return []Event{
		{At: after(time.Minute), Fail: &Selector{Zone: ptr("a"), Percent: ptr(30.0), Seed: ptr(int64(7))}},
		{At: after(time.Minute), Recover: &Selector{Labels: choose("topology.kubernetes.io/zone notin (c)")}},
		{At: after(time.Minute), Partition: &Partition{Selector: Selector{Zone: ptr("b"), Labels: choose("kubernetes.io/os=linux"), Count: ptr(1)}, Clients: ptr(0.5)}},
		{At: after(time.Minute), Condition: &Condition{Selector{Labels: choose("topology.kubernetes.io/zone in (a)")}, "Ready", "False"}},
		{At: after(time.Minute), Taint: &Taint{Selector{Nodes: []string{"a-000", "a-001"}}, "k", "", "NoSchedule"}},
		{At: after(time.Minute), Drain: &Selector{Node: "a-001"}},
		{At: after(time.Minute), OutOfService: &Selector{Node: "a-001"}},
		{At: after(2 * time.Minute), ReplaceNode: &ReplaceNode{Selector: Selector{Node: "a-001"}, After: after(time.Minute)}},
		{At: after(3 * time.Minute), Cordon: &Selector{Node: "a-001"}},
		{At: after(3 * time.Minute), API: &API{State: "slow", Latency: after(time.Second), For: "kubelets"}},
		{At: after(4 * time.Minute), API: &API{State: "down", For: "evictor"}},
		{At: after(5 * time.Minute), AddNode: &AddNode{Name: "n", Zone: "a", Region: "r1", PodsPerNode: 1, DaemonSetPodsPerNode: 1,
			NodeFields: NodeFields{Labels: map[string]string{"pool": "gpu"}, Taints: []NodeTaint{{"gpu", "", "NoSchedule"}}, Capacity: map[string]Quantity{"cpu": "4"}},
			Pod:        PodFields{Requests: map[string]Quantity{"cpu": "500m"}, Owner: "StatefulSet/db", Tolerations: []Toleration{{Operator: "Exists"}}}}},
		{At: after(6 * time.Minute), AddPod: &AddPod{Name: "p", Node: "n", PodFields: PodFields{Labels: map[string]string{"app": "x"}, NodeSelector: map[string]string{"pool": "gpu"}}}},
		{At: after(6 * time.Minute), Fail: &Selector{Labels: choose("pool=gpu")}},
		{At: after(10 * time.Minute), Repeat: &Repeat{Every: after(5 * time.Minute), Times: ptr(3), Events: []Event{
			{At: after(0), AddPod: &AddPod{Name: "again", Node: "a-000"}},
			{At: after(time.Minute), DeletePod: &DeletePod{Name: "again"}},
		}}},
	}
}

func TestCheckPassesEachAction(t *testing.T) {
	s := sound()
	s.Config.UseEvictionAPI = ptr(true)
	s.Events = soundActions()
	require.NoError(t, s.Check(nil))
}

func TestCheckFaultsOfActions(t *testing.T) {
	on := func(s Selector) *Selector { return &s }
	for want, e := range map[string]Event{
		`fail: percent: 101 is outside 0…100`:                                                         {Fail: on(Selector{Zone: ptr("a"), Percent: ptr(101.0)})},
		`fail: percent: NaN is outside 0…100`:                                                         {Fail: on(Selector{Zone: ptr("a"), Percent: ptr(math.NaN())})},
		`fail: count and percent cannot both be set`:                                                  {Fail: on(Selector{Zone: ptr("a"), Percent: ptr(1.0), Count: ptr(1)})},
		`cordon: percent is allowed only with zone or selector`:                                       {Cordon: on(Selector{Node: "a-000", Percent: ptr(1.0)})},
		`drain: seed is allowed only with count or percent`:                                           {Drain: on(Selector{Zone: ptr("a"), Seed: ptr(int64(1))})},
		`fail: selector "a=b" matches no node`:                                                        {Fail: on(Selector{Labels: ptr(LabelSelector("a=b"))})},
		`fail: count: 11 is more than the 10 nodes of zone "a" and selector "!x"`:                     {Fail: on(Selector{Zone: ptr("a"), Labels: ptr(LabelSelector("!x")), Count: ptr(11)})},
		`partition: clients: 1.5 is outside 0…1`:                                                      {Partition: &Partition{Selector{Node: "a-000"}, ptr(1.5)}},
		`partition: zone "c" is driven by a trace`:                                                    {Partition: &Partition{Selector{Zone: ptr("c")}, nil}},
		`fail: node "c-000" is in zone ":c", which is driven by a trace`:                              {Fail: on(Selector{Labels: ptr(LabelSelector("topology.kubernetes.io/zone=c")), Count: ptr(1)})},
		`replaceNode: after: -1s is negative`:                                                         {ReplaceNode: &ReplaceNode{Selector{Node: "a-000"}, after(-time.Second)}},
		`replaceNode: node "x" does not exist`:                                                        {ReplaceNode: &ReplaceNode{Selector{Node: "x"}, nil}},
		`api: latency is missing`:                                                                     {API: &API{State: "slow"}},
		`api: latency: 0s is not positive`:                                                            {API: &API{State: "slow", Latency: after(0)}},
		`api: latency is allowed only with state slow`:                                                {API: &API{State: "up", Latency: after(1)}},
		`api: for: "me" is not one of evictor, kubelets and all`:                                      {API: &API{State: "down", For: "me"}},
		`addNode: labels: topology.kubernetes.io/zone is set by zone and region`:                      {AddNode: &AddNode{Name: "n", NodeFields: NodeFields{Labels: map[string]string{"topology.kubernetes.io/zone": "x"}}}},
		`addNode: taints: taint 1: key is missing`:                                                    {AddNode: &AddNode{Name: "n", NodeFields: NodeFields{Taints: []NodeTaint{{Effect: "NoExecute"}}}}},
		`addNode: capacity: cpu: "many" is not a quantity such as 500m, 32Gi or 4`:                    {AddNode: &AddNode{Name: "n", NodeFields: NodeFields{Capacity: map[string]Quantity{"cpu": "many"}}}},
		`addNode: pod: requests: cpu: -1 is negative`:                                                 {AddNode: &AddNode{Name: "n", Pod: PodFields{Requests: map[string]Quantity{"cpu": "-1"}}}},
		`addPod: owner: "x" is neither none nor Kind/name`:                                            {AddPod: &AddPod{Name: "p", Node: "a-000", PodFields: PodFields{Owner: "x"}}},
		`addPod: tolerations: toleration 1: operator: "In" is neither Exists nor Equal`:               {AddPod: &AddPod{Name: "p", Node: "a-000", PodFields: PodFields{Tolerations: []Toleration{{Key: "k", Operator: "In"}}}}},
		`addPod: tolerations: toleration 1: key is missing: it is optional only with operator Exists`: {AddPod: &AddPod{Name: "p", Node: "a-000", PodFields: PodFields{Tolerations: []Toleration{{}}}}},
		`addPod: tolerations: toleration 1: tolerationSeconds is allowed only with effect NoExecute`:  {AddPod: &AddPod{Name: "p", Node: "a-000", PodFields: PodFields{Tolerations: []Toleration{{Key: "k", TolerationSeconds: ptr(int64(1))}}}}},
	} {
		e.At = after(time.Minute)
		s := sound()
		s.Events = []Event{e}
		require.EqualError(t, s.Check(nil), "event 1 (at 1m0s): "+want)
	}
}

func TestCheckFaultsOfRepeat(t *testing.T) {
	good := []Event{{At: after(0), Restart: &Restart{}}}
	for want, e := range map[string]Event{
		"event 1: at is missing":                                                    {Repeat: &Repeat{Every: after(1e9), Times: ptr(1), Events: good}},
		"event 1: repeat: every is missing":                                         {At: after(0), Repeat: &Repeat{Events: good}},
		"event 1: repeat: every: 0s is not positive":                                {At: after(0), Repeat: &Repeat{Every: after(0), Events: good}},
		"event 1: repeat: times: 0 is less than 1":                                  {At: after(0), Repeat: &Repeat{Every: after(1e9), Times: ptr(0), Events: good}},
		"event 1: repeat: events is missing":                                        {At: after(0), Repeat: &Repeat{Every: after(1e9)}},
		"events: with all rounds of repeat there are more than 1000000":             {At: after(0), Repeat: &Repeat{Every: after(1e3), Events: good}},
		"event 1, round 1, event 1 (at 1m0s): repeat: repeat cannot contain repeat": {At: after(time.Minute), Repeat: &Repeat{Every: after(time.Minute), Events: []Event{{At: after(0), Repeat: &Repeat{}}}}},
		// A fault in every round is reported once, and a fault in only the second round is reported too.
		`event 1, round 1, event 1 (at 1m0s): cordon: node "x" does not exist`:                               {At: after(time.Minute), Repeat: &Repeat{Every: after(time.Minute), Events: []Event{{At: after(0), Cordon: &Selector{Node: "x"}}}}},
		`event 1, round 2, event 1 (at 2m0s): addNode: node "n" already exists`:                              {At: after(time.Minute), Repeat: &Repeat{Every: after(time.Minute), Events: []Event{{At: after(0), AddNode: &AddNode{Name: "n"}}}}},
		`event 1, round 2, event 1 (at 2m0s): deleteNode: node "a-000" no longer exists: event 1 deletes it`: {At: after(time.Minute), Repeat: &Repeat{Every: after(time.Minute), Times: ptr(3), Events: []Event{{At: after(0), DeleteNode: &Selector{Node: "a-000"}}}}},
	} {
		s := sound()
		s.Events = []Event{e}
		require.EqualError(t, s.Check(nil), want)
	}
}

// TestAReplacedNodeIsNotThereMeanwhile: its name can be taken, and then the new node cannot be added.
func TestAReplacedNodeIsNotThereMeanwhile(t *testing.T) {
	s := sound()
	s.Events = []Event{
		{At: after(time.Minute), ReplaceNode: &ReplaceNode{Selector{Zone: ptr("a"), Count: ptr(2)}, after(time.Minute)}},
		{At: after(90 * time.Second), Cordon: &Selector{Node: "a-001"}},
		{At: after(2 * time.Minute), Cordon: &Selector{Node: "a-001"}},
		{At: after(90 * time.Second), AddNode: &AddNode{Name: "a-000"}},
	}
	require.EqualError(t, s.Check(nil), `event 1 (at 2m0s): replaceNode: node "a-000" already exists`+"\n"+
		`event 2 (at 1m30s): cordon: node "a-001" no longer exists: event 1 deletes it`)
}

func TestPlan(t *testing.T) {
	restart := &Restart{}
	s := &Scenario{Until: after(10 * time.Minute), Events: []Event{
		{At: after(4 * time.Minute), Restart: restart},
		{At: after(2 * time.Minute), Repeat: &Repeat{Every: after(time.Minute), Times: ptr(3), Events: []Event{{At: after(0), Restart: restart}, {At: after(90 * time.Second), Restart: restart}}}},
		{At: after(3 * time.Minute), Repeat: &Repeat{Every: after(4 * time.Minute), Events: []Event{{At: after(0), Restart: restart}}}},
		{At: after(11 * time.Minute), Repeat: &Repeat{Every: after(time.Minute), Times: ptr(100), Events: []Event{{At: after(0), Restart: restart}}}},
	}}
	var got []string
	for _, e := range s.Plan() {
		got = append(got, e.At.String()+" "+e.Place())
	}
	require.Equal(t, []string{
		"2m0s event 2, round 1, event 1",
		"3m0s event 2, round 2, event 1", "3m0s event 3, round 1, event 1",
		"3m30s event 2, round 1, event 2",
		"4m0s event 1", "4m0s event 2, round 3, event 1",
		"4m30s event 2, round 2, event 2", "5m30s event 2, round 3, event 2",
		"7m0s event 3, round 2, event 1",
		"11m0s event 4, round 1, event 1",
	}, got)
}

func TestSelectorOrderAndMost(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	plain := Selector{Zone: ptr("z")}
	require.Equal(t, names, plain.Order(names, 3))
	seeded := Selector{Zone: ptr("z"), Seed: ptr(int64(7))}
	require.Equal(t, []string{"c", "b", "a", "e", "d"}, seeded.Order(names, 0)) // as sha256sum says
	next := Selector{Zone: ptr("z"), Seed: ptr(int64(8))}
	require.Equal(t, next.Order(names, 0), seeded.Order(names, 1), "each round another choice, and the same each time")
	require.NotEqual(t, seeded.Order(names, 0), next.Order(names, 0))
	for percent, want := range map[float64]int{0: 0, 9.9: 0, 10: 1, 29: 1, 30: 2, 100: 5} {
		s := Selector{Zone: ptr("z"), Percent: ptr(percent)}
		require.Equal(t, want, s.Most(5), percent)
	}
	require.Equal(t, 5, plain.Most(5))
}

func TestEventsInWords(t *testing.T) {
	var got []string
	for _, e := range soundActions() {
		got = append(got, e.String())
	}
	require.Equal(t, []string{
		"fail 30 % of zone a", "recover nodes with topology.kubernetes.io/zone notin (c)", "partition 1 node of zone b with kubernetes.io/os=linux",
		"nodes with topology.kubernetes.io/zone in (a) reports Ready=False", "taint 2 nodes k:NoSchedule", "drain node a-001", "outOfService node a-001",
		"replaceNode node a-001", "cordon node a-001", "api slow for kubelets by 1s", "api down for evictor", "addNode n", "addPod p on n",
		"fail nodes with pool=gpu", "repeat 2 events every 5m0s",
	}, got)
	require.Equal(t, "fail 2 nodes of zone a", (&Event{Fail: &Selector{Zone: ptr("a"), Count: ptr(2)}}).String())
	require.Equal(t, "recover zone a", (&Event{Recover: &Selector{Zone: ptr("a")}}).String())
	require.Equal(t, "fail 2 nodes", (&Event{Fail: &Selector{Nodes: []string{"x", "y"}}}).String())
	require.Equal(t, "restart", (&Event{Restart: &Restart{}}).String())
	require.Equal(t, "drain all nodes", (&Event{Drain: &Selector{Labels: ptr(LabelSelector(""))}}).String())
}
