package simulation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// readiness plays a scenario without an evictor, and returns when the API showed which Ready status of a node.
func readiness(t *testing.T, s simulation.Scenario, name string) (seen []string) {
	t.Helper()
	before := v1.ConditionStatus("")
	_, err := simulation.Play(context.Background(), s, func(w *simulation.World) (simulation.Controller, error) {
		return simulation.StepFunc(func(context.Context) (time.Time, error) {
			status := v1.ConditionStatus("gone")
			if n, ok := w.Clients().Nodes.Node(name); ok {
				status = readyStatus(n)
			}
			if status != before {
				seen = append(seen, fmt.Sprintf("%s %s", w.Clock().Now().Sub(simulation.Epoch), status))
			}
			before = status
			return time.Time{}, nil
		}), nil
	})
	require.NoError(t, err)
	return seen
}

func readyStatus(n *v1.Node) v1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status
		}
	}
	return "missing"
}

// No kubelet is silent for longer than the time between two renewals, not even at first.
func TestAHealthyKubeletIsNeverSilentForLonger(t *testing.T) {
	last, longest := make(map[string]time.Time), time.Duration(0)
	s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 10, PodsPerNode: 1}}, Until: 10 * time.Minute}
	s.Config = evictor.DefaultConfig()
	s.Config.Nodes.NodeMonitorPeriod, s.Config.Nodes.NodeMonitorGracePeriod = 2*time.Second, 16*time.Second
	r, err := simulation.Play(context.Background(), s, func(w *simulation.World) (simulation.Controller, error) {
		require.NoError(t, w.Clients().Source.Feed(beats{func(name string, at time.Time) {
			if before, known := last[name]; known {
				longest = max(longest, at.Sub(before))
			} else {
				longest = max(longest, at.Sub(simulation.Epoch))
			}
			last[name] = at
		}}))
		return w.NewEvictor(evictor.Options{})
	})
	require.NoError(t, err)
	require.Len(t, last, 10)
	require.Equal(t, 10*time.Second, longest)
	require.Zero(t, r.UnknownNodes+r.Taints+r.Evicted, "no node is declared not Ready without any event")
}

// beats is a target that is told of renewals.
type beats struct {
	renewed func(node string, at time.Time)
}

func (beats) NodeChanged(string)                                  {}
func (beats) PodChanged(evictor.PodKey)                           {}
func (b beats) LeaseObserved(node string, at time.Time, _ string) { b.renewed(node, at) }
func (beats) SetObserverHealth(error)                             {}

// A kubelet that starts is not Ready at first, whatever starts it. One that was only cut off is Ready at once, and so is each at
// time 0.
func TestAKubeletThatStartsIsNotReadyAtFirst(t *testing.T) {
	a0 := simulation.Nodes{Names: []string{"a-000"}}
	fails, back := simulation.Event{At: time.Minute, Fail: &a0}, simulation.Event{At: 2 * time.Minute, Recover: &a0}
	partitions := simulation.Event{At: time.Minute, Partition: &simulation.Partition{Nodes: a0}}
	kubelets := func(at time.Duration, state string, latency time.Duration) simulation.Event {
		return simulation.Event{At: at, API: &simulation.API{State: state, Latency: latency, For: simulation.ForKubelets}}
	}
	ready := func(at time.Duration, status v1.ConditionStatus) simulation.Event {
		return simulation.Event{At: at, Condition: &simulation.Condition{Nodes: a0, Type: v1.NodeReady, Status: status}}
	}
	for name, c := range map[string]struct {
		events []simulation.Event
		want   []string
	}{
		"it never stops": {nil, []string{"0s True"}},
		"recover":        {[]simulation.Event{fails, back}, []string{"0s True", "2m0s False", "2m15s True"}},
		"recover after a partition that became a failure": {[]simulation.Event{partitions, {At: 70 * time.Second, Fail: &a0}, back}, []string{"0s True", "2m0s False", "2m15s True"}},
		"recover after a partition":                       {[]simulation.Event{partitions, back}, []string{"0s True"}},
		"replaceNode": {
			[]simulation.Event{{At: time.Minute, ReplaceNode: &simulation.ReplaceNode{Nodes: a0, After: 90 * time.Second}}},
			[]string{"0s True", "1m0s gone", "2m30s False", "2m45s True"},
		},
		"roll":    {[]simulation.Event{{At: time.Minute, Roll: &simulation.Roll{Nodes: a0}}}, []string{"0s True", "1m0s gone", "1m0s False", "1m15s True"}},
		"addNode": {[]simulation.Event{{At: time.Minute, DeleteNode: &a0}, {At: 2 * time.Minute, AddNode: &simulation.AddNode{Name: "a-000", Zone: "a"}}}, []string{"0s True", "1m0s gone", "2m0s False", "2m15s True"}},
		"failing again meanwhile": {
			[]simulation.Event{fails, back, {At: 130 * time.Second, Fail: &a0}, {At: 3 * time.Minute, Recover: &a0}},
			[]string{"0s True", "2m0s False", "3m15s True"},
		},
		"gone meanwhile":              {[]simulation.Event{fails, back, {At: 130 * time.Second, DeleteNode: &a0}}, []string{"0s True", "2m0s False", "2m10s gone"}},
		"cut off meanwhile":           {[]simulation.Event{fails, back, {At: 130 * time.Second, Partition: &simulation.Partition{Nodes: a0}}, {At: 3 * time.Minute, Recover: &a0}}, []string{"0s True", "2m0s False", "3m0s True"}},
		"a condition says otherwise":  {[]simulation.Event{fails, back, ready(130*time.Second, v1.ConditionTrue)}, []string{"0s True", "2m0s False", "2m10s True"}},
		"a condition says so as well": {[]simulation.Event{fails, back, ready(130*time.Second, v1.ConditionFalse)}, []string{"0s True", "2m0s False"}},
		"another condition":           {[]simulation.Event{fails, back, {At: 130 * time.Second, Condition: &simulation.Condition{Nodes: a0, Type: v1.NodeDiskPressure, Status: v1.ConditionTrue}}}, []string{"0s True", "2m0s False", "2m15s True"}},
		"a slow API": {
			[]simulation.Event{kubelets(30*time.Second, simulation.APISlow, 4*time.Second), {At: time.Minute, ReplaceNode: &simulation.ReplaceNode{Nodes: a0}}},
			[]string{"0s True", "1m0s False", "1m19s True"},
		},
		"no kubelet reaches the API": { // it reports with the first renewal afterwards
			[]simulation.Event{fails, kubelets(110*time.Second, simulation.APIDown, 0), back, kubelets(155*time.Second, simulation.APIUp, 0)}, []string{"0s True"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := zones(c.events...)
			s.NotReadyFor = 15 * time.Second
			require.Equal(t, c.want, readiness(t, s, "a-000"))
			s.NotReadyFor = 0
			for _, at := range readiness(t, s, "a-000") {
				if name != "a condition says so as well" {
					require.NotContains(t, at, "False", "it is Ready at once by default")
				}
			}
		})
	}
}

func TestANodeThatATraceBringsBackIsNotReadyAtFirst(t *testing.T) {
	s := zones()
	s.NotReadyFor, s.Traces = 15*time.Second, []simulation.Trace{{Zone: "a", Gap: time.Minute, Alive: []int{4, 3, 4}}}
	require.Equal(t, []string{"0s True", "2m0s False", "2m15s True"}, readiness(t, s, "a-003"))
	require.Equal(t, []string{"0s True"}, readiness(t, s, "a-002"))
}

// While a kubelet starts, its node is tainted, takes no pods and keeps its own, which run; its lease is renewed. A world that a
// program drives has the same kubelets.
func TestWhatANodeDoesWhileItsKubeletStarts(t *testing.T) {
	var happened []string
	s := zones(simulation.Event{At: time.Minute, Fail: &simulation.Nodes{Zone: "a", Count: 1}}, simulation.Event{At: 90 * time.Second, Recover: &simulation.Nodes{Zone: "a"}})
	s.NotReadyFor, s.Until = 2*time.Minute, 15*time.Minute
	s.Happened = func(h simulation.Happening) {
		happened = append(happened, fmt.Sprintf("%s %s: %s", h.At, h.Node, h.Text))
	}
	r, lines := play(t, s)
	require.Equal(t, []string{
		"1m0s a-000: the kubelet falls silent", "1m30s a-000: the kubelet is back and ends deleted pods",
		"1m30s a-000: the kubelet starts, and reports Ready=False for 2m0s", "3m30s a-000: the kubelet reports Ready=True",
	}, happened)
	require.Equal(t, []string{"1m30s a-000 ", "1m30s a-000 ", "3m30s a-000 ", "3m30s a-000 "}, of(lines, "taint"), "NoSchedule and NoExecute")
	require.Zero(t, r.UnknownNodes)
	require.Zero(t, r.Evicted)
	require.InDelta(t, 2*(30*time.Second).Hours(), r.PodHoursLost, 1e-9, "its two pods run from 1m30s on")

	clock := clocktesting.NewFakePassiveClock(simulation.Epoch)
	w, err := simulation.New(simulation.Scenario{Clock: clock, NotReadyFor: 15 * time.Second})
	require.NoError(t, err)
	require.NoError(t, w.Add(node("d", "y", nil)))
	for n, _ := w.Clients().Nodes.Node("d"); readyStatus(n) == v1.ConditionFalse; n, _ = w.Clients().Nodes.Node("d") {
		at, _, ok := w.Next()
		require.True(t, ok && at < time.Minute, at)
		clock.SetTime(simulation.Epoch.Add(at))
		w.Turn()
	}
	require.Equal(t, simulation.Epoch.Add(15*time.Second), clock.Now())
}

func TestForHowLongAKubeletIsNotReady(t *testing.T) {
	s := zones()
	s.NotReadyFor = -1
	_, err := simulation.Play(context.Background(), s)
	require.EqualError(t, err, "simulation: notReadyFor: -1ns is negative")
	s.NotReadyFor = 15 * time.Second
	_, lines := recorded(t, s)
	require.Contains(t, lines[0].More, `"notReadyFor":15`)
	s.NotReadyFor = 0
	_, lines = recorded(t, s)
	require.NotContains(t, lines[0].More, "notReadyFor")
}

// A new node takes no pods before the node lifecycle controller has removed the taint of the API server's admission: the kubelet
// must be Ready, and somebody must lead.
func TestANewNodeIsClosedUntilItsTaintIsLifted(t *testing.T) {
	a1 := simulation.Nodes{Names: []string{"a-001"}}
	deletes := simulation.Event{At: 3 * time.Minute, DeleteNode: &a1}
	adds := simulation.Event{At: 4 * time.Minute, AddNode: &simulation.AddNode{Name: "new", Zone: "a", NodeFields: simulation.NodeFields{Capacity: map[string]simulation.Quantity{"cpu": "8"}}}}
	replaces := simulation.Event{At: 3 * time.Minute, ReplaceNode: &simulation.ReplaceNode{Nodes: a1, After: time.Minute}}
	api := func(at time.Duration, state string, latency time.Duration) simulation.Event {
		return simulation.Event{At: at, API: &simulation.API{State: state, Latency: latency, For: simulation.ForEvictor}}
	}
	nobodyLeads, again := api(2*time.Minute, simulation.APISlow, 6*time.Second), api(12*time.Minute, simulation.APIUp, 0)
	for name, c := range map[string]struct {
		events []simulation.Event
		starts time.Duration
		want   []string
	}{
		"at once":                     {[]simulation.Event{deletes, adds}, 0, []string{"4m0s new a-001-p0-r1"}},
		"when its kubelet is Ready":   {[]simulation.Event{deletes, adds}, 15 * time.Second, []string{"4m15s new a-001-p0-r1"}},
		"a replacement":               {[]simulation.Event{replaces}, 15 * time.Second, []string{"4m15s a-001 a-001-p0-r1"}},
		"when there is a leader":      {[]simulation.Event{nobodyLeads, deletes, adds, again}, 0, []string{"12m0s new a-001-p0-r1"}},
		"the same of a replacement":   {[]simulation.Event{nobodyLeads, replaces, again}, 0, []string{"12m0s a-001 a-001-p0-r1"}},
		"nobody leads before the end": {[]simulation.Event{nobodyLeads, deletes, adds}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulation.Scenario{Events: c.events, NotReadyFor: c.starts, Until: 20 * time.Minute}
			s.Zones = []simulation.Zone{{Name: "a", Nodes: 3, PodsPerNode: 1, NodeFields: simulation.NodeFields{Capacity: map[string]simulation.Quantity{"cpu": "1"}}}}
			s.Zones[0].Pod.Requests = map[string]simulation.Quantity{"cpu": "1"}
			_, lines := play(t, s)
			require.Equal(t, c.want, of(lines, "schedule"))
		})
	}
}
