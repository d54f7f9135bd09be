package simulation

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// soundEvents returns valid events of each kind, with what they can choose.
func soundEvents() []Event {
	return []Event{
		{At: time.Minute, Fail: &Nodes{Zone: "a", Percent: 30.0, Seed: 7}},
		{At: time.Minute, Recover: &Nodes{Labels: "topology.kubernetes.io/zone notin (c)"}},
		{At: time.Minute, Partition: &Partition{Nodes: Nodes{Zone: "b", Labels: "kubernetes.io/os=linux", Count: 1}, Clients: ptr(0.5)}},
		{At: time.Minute, LoseLeases: &LoseLeases{Nodes: *named("a-000"), ShowAfter: time.Minute}},
		{At: time.Minute, ShowLeases: named("a-000")},
		{At: time.Minute, Condition: &Condition{Nodes{Labels: "topology.kubernetes.io/zone in (a)"}, "Ready", "False"}},
		{At: time.Minute, Taint: &Taint{Nodes{Names: []string{"a-000", "a-001"}}, NodeTaint{"k", "", "NoSchedule"}}},
		{At: time.Minute, Untaint: &Untaint{Nodes{Names: []string{"a-000"}}, "k", "NoSchedule"}},
		{At: time.Minute, Drain: &Drain{Nodes: *named("a-001")}},
		{At: time.Minute, OutOfService: named("a-001")},
		{At: 2 * time.Minute, ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{"a-001"}}, After: time.Minute}},
		{At: 3 * time.Minute, Cordon: named("a-001")},
		{At: 3 * time.Minute, Uncordon: named("a-001")},
		{At: 3 * time.Minute, Roll: &Roll{Nodes: Nodes{Zone: "b"}}},
		{At: 3 * time.Minute, DeletePod: &Pod{Name: "a-000-p0"}},
		{At: 3 * time.Minute, ForceDelete: &Pod{Name: "a-000-p1"}},
		{At: 3 * time.Minute, DeleteNode: named("a-002")},
		{At: 3 * time.Minute, Restart: &Restart{}},
		{At: 3 * time.Minute, API: &API{State: "slow", Latency: time.Second, For: "kubelets"}},
		{At: 4 * time.Minute, API: &API{State: "down", For: "evictor"}},
		{At: 5 * time.Minute, AddNode: &AddNode{Name: "n", Zone: "a", Region: "r1", PodsPerNode: 1, DaemonSetPodsPerNode: 1,
			NodeFields: NodeFields{Labels: map[string]string{"pool": "gpu"}, Taints: []NodeTaint{{"gpu", "", "NoSchedule"}}, Capacity: map[string]Quantity{"cpu": "4"}},
			Pod:        PodFields{Requests: map[string]Quantity{"cpu": "500m"}, Owner: "StatefulSet/db", Tolerations: []Toleration{{Operator: "Exists"}}}}},
		{At: 6 * time.Minute, AddPod: &AddPod{Name: "p", Node: "n", PodFields: PodFields{Labels: map[string]string{"app": "x"}, NodeSelector: map[string]string{"pool": "gpu"}}}},
		{At: 6 * time.Minute, Fail: &Nodes{Labels: "pool=gpu"}},
		{At: 10 * time.Minute, Repeat: &Repeat{Every: 5 * time.Minute, Times: 3, Events: []Event{
			{At: 0, AddPod: &AddPod{Name: "again", Node: "a-000"}},
			{At: time.Minute, DeletePod: &Pod{Name: "again"}},
		}}},
	}
}

func TestCheckPassesEachEvent(t *testing.T) {
	s := sound()
	s.AskBudgets = true
	s.Events = soundEvents()
	require.NoError(t, checked(s))
	for _, field := range actionsOf(&Event{}) {
		has := func(e Event) bool { return !reflect.ValueOf(e).FieldByIndex(field.Index).IsNil() }
		require.True(t, slices.ContainsFunc(s.Events, has), "no sound event has %s", field.Name)
	}
}

func TestCheckFaultsOfEvents(t *testing.T) {
	for want, e := range map[string]Event{
		`fail: percent: 101 is outside 0…100`:                                                         {Fail: &Nodes{Zone: "a", Percent: 101.0}},
		`fail: percent: NaN is outside 0…100`:                                                         {Fail: &Nodes{Zone: "a", Percent: math.NaN()}},
		`fail: count and percent cannot both be set`:                                                  {Fail: &Nodes{Zone: "a", Percent: 1.0, Count: 1}},
		`cordon: percent is not allowed with names`:                                                   {Cordon: &Nodes{Names: []string{"a-000"}, Percent: 1.0}},
		`drain: seed is allowed only with count or percent`:                                           {Drain: &Drain{Nodes: Nodes{Zone: "a", Seed: 1}}},
		`fail: selector "a=b" matches no node`:                                                        {Fail: &Nodes{Labels: "a=b"}},
		`fail: count: 11 nodes of zone a with !x: there are only 10`:                                  {Fail: &Nodes{Zone: "a", Labels: "!x", Count: 11}},
		`partition: clients: 1.5 is outside 0…1`:                                                      {Partition: &Partition{Nodes{Names: []string{"a-000"}}, ptr(1.5)}},
		`partition: node c-000 is in zone ":c", which is driven by a trace`:                           {Partition: &Partition{Nodes{Zone: "c"}, nil}},
		`fail: node c-000 is in zone ":c", which is driven by a trace`:                                {Fail: &Nodes{Labels: "topology.kubernetes.io/zone=c", Count: 1}},
		`replaceNode: after: -1s is negative`:                                                         {ReplaceNode: &ReplaceNode{Nodes{Names: []string{"a-000"}}, -time.Second}},
		`replaceNode: node x does not exist`:                                                          {ReplaceNode: &ReplaceNode{Nodes{Names: []string{"x"}}, 0}},
		`api: latency: 0s is not positive`:                                                            {API: &API{State: "slow"}},
		`api: latency is allowed only with state slow`:                                                {API: &API{State: "up", Latency: 1}},
		`api: answer: "" is not one of forbidden, busy, internal and written`:                         {API: &API{State: "failing"}},
		`api: answer is allowed only with state failing`:                                              {API: &API{State: "down", Answer: "busy"}},
		`api: for: only the evictor's writes can be failing`:                                          {API: &API{State: "failing", Answer: "busy", For: "kubelets"}},
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
		e.At = time.Minute
		s := sound()
		s.Events = []Event{e}
		require.EqualError(t, checked(s), "event 1 (at 1m0s): "+want)
	}
}

func TestCheckFaultsOfRepeat(t *testing.T) {
	good := []Event{{At: 0, Restart: &Restart{}}}
	for want, e := range map[string]Event{
		"event 1: at: -1s is negative":                                              {At: -time.Second, Repeat: &Repeat{Every: 1e9, Times: 1, Events: good}},
		"event 1: repeat: every: 0s is not positive":                                {At: 0, Repeat: &Repeat{Events: good}},
		"event 1: repeat: times: -1 is negative":                                    {At: 0, Repeat: &Repeat{Every: 1e9, Times: -1, Events: good}},
		"event 1: repeat: events is missing":                                        {At: 0, Repeat: &Repeat{Every: 1e9}},
		"event 1: with all rounds of repeat there are more than 1000000":            {At: 0, Repeat: &Repeat{Every: 1e3, Events: good}},
		"event 1, round 1, event 1 (at 1m0s): repeat: repeat cannot contain repeat": {At: time.Minute, Repeat: &Repeat{Every: time.Minute, Events: []Event{{At: 0, Repeat: &Repeat{}}}}},
		// A fault in every round is reported once, and a fault in only the second round is reported too.
		`event 1, round 1, event 1 (at 1m0s): cordon: node x does not exist`:         {At: time.Minute, Repeat: &Repeat{Every: time.Minute, Events: []Event{{At: 0, Cordon: named("x")}}}},
		`event 1, round 2, event 1 (at 2m0s): addNode: node n already exists`:        {At: time.Minute, Repeat: &Repeat{Every: time.Minute, Events: []Event{{At: 0, AddNode: &AddNode{Name: "n"}}}}},
		`event 1, round 2, event 1 (at 2m0s): deleteNode: node a-000 does not exist`: {At: time.Minute, Repeat: &Repeat{Every: time.Minute, Times: 3, Events: []Event{{At: 0, DeleteNode: named("a-000")}}}},
	} {
		s := sound()
		s.Events = []Event{e}
		require.EqualError(t, checked(s), want)
	}
}

// TestAReplacedNodeIsNotThereMeanwhile: its name can be taken, and then the new node cannot be added.
func TestAReplacedNodeIsNotThereMeanwhile(t *testing.T) {
	s := sound()
	s.Events = []Event{
		{At: time.Minute, ReplaceNode: &ReplaceNode{Nodes{Zone: "a", Count: 2}, time.Minute}},
		{At: 90 * time.Second, Cordon: named("a-001")},
		{At: 2 * time.Minute, Cordon: named("a-001")},
		{At: 90 * time.Second, AddNode: &AddNode{Name: "a-000"}},
	}
	require.EqualError(t, checked(s), `event 2 (at 1m30s): cordon: node a-001 does not exist`)
	s.Events = append(s.Events[:1], s.Events[2:]...)
	require.EqualError(t, checked(s), `event 1 (at 2m0s): replaceNode: node a-000 already exists`)
}

// A trace decides after the events of an instant. Until then a new node is alive, and a silent one stays silent.
func TestNodesThatComeAndGoAtTheInstantOfAConditionOnADrivenZone(t *testing.T) {
	s := sound()
	condition := func(node string) *Condition {
		return &Condition{Nodes: Nodes{Names: []string{node}}, Type: "Ready", Status: "True"}
	}
	s.Events = []Event{
		{At: 11 * time.Minute, DeleteNode: named("c-000")},
		{At: 11 * time.Minute, AddNode: &AddNode{Name: "c-004", Zone: "c"}},
		{At: 11 * time.Minute, Condition: condition("c-004")},
		{At: 12 * time.Minute, Condition: condition("c-004")},
	}
	require.EqualError(t, checked(s), `event 4 (at 12m0s): condition: node c-004 has failed: only a live kubelet reports conditions`)
	s.Events[3] = Event{At: 11 * time.Minute, Condition: condition("c-001")}
	require.EqualError(t, checked(s), `event 4 (at 11m0s): condition: node c-001 has failed: only a live kubelet reports conditions`)
}
