package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

func TestVerdict(t *testing.T) {
	zoneOf := func(name string, desired, lowest int, below, half time.Duration) simulation.ZoneReport {
		return simulation.ZoneReport{Name: name, Nodes: desired, LowestNodes: lowest, MostLost: desired - lowest, Of: desired, Lows: simulation.Lows{Below: below, BelowHalf: half}}
	}
	deleted := zoneOf("a", 10, 5, 29*time.Minute, 0)
	deleted.Nodes = 5 // the cloud has removed the dead machines
	load := simulation.WorkloadReport{Level: simulation.Level{Desired: 10, Lows: simulation.Lows{BelowHalf: 12 * time.Minute}, LongestBelowHalf: 12 * time.Minute}}
	for name, c := range map[string]struct {
		headline string
		report   simulation.Report
		more     string
	}{
		"nothing": {
			"All nodes were live all the time, and no pod was evicted.",
			simulation.Report{Zones: []simulation.ZoneReport{zoneOf("a", 3, 3, 0, 0)}, Workloads: []simulation.WorkloadReport{{}}},
			"",
		},
		"a zone": {
			"Zone r:a lost all of its 1,667 nodes: 12,300 pods were evicted.",
			simulation.Report{
				Zones: []simulation.ZoneReport{zoneOf("r:a", 1667, 0, time.Hour, 40*time.Minute)}, Pods: 50_000, Evicted: 12_300, NeedlessEvictions: 310,
				Delayed: 12_300, EvictionDelayWorst: 23 * time.Minute, Workloads: []simulation.WorkloadReport{load, load, load},
				WorkloadsBelowHalf: 3, LongestBelowHalf: 12 * time.Minute,
			},
			"Zone r:a lost all of its 1,667 nodes (below half for 40m): 12,300 of 50,000 pods were evicted, the slowest 23m after its node fell silent, " +
				"310 of them needlessly, because their nodes were silent for no longer than 10m. 3 workloads had fewer than half of their pods live for up to 12m.",
		},
		"nodes that were deleted then": {
			"Zone a lost 5 nodes: 50 pods were evicted.",
			simulation.Report{Zones: []simulation.ZoneReport{deleted}, Pods: 100, Evicted: 50},
			"Zone a lost 5 of 10 nodes: 50 of 100 pods were evicted.",
		},
		"pods that came later": {
			"Zone a lost all of its 3 nodes: 2 pods were evicted.",
			simulation.Report{Zones: []simulation.ZoneReport{zoneOf("a", 3, 0, time.Minute, 0)}, Pods: 1, Evicted: 2},
			"Zone a lost all of its 3 nodes: 2 pods were evicted.",
		},
		"many zones": {
			"4 zones lost nodes: 1 pod was evicted.",
			simulation.Report{
				Zones: []simulation.ZoneReport{
					zoneOf("a", 9, 9, 0, 0), zoneOf("b", 9, 8, time.Minute, 0), zoneOf("c", 9, 0, time.Minute, time.Minute),
					zoneOf("d", 9, 0, time.Hour, time.Hour), zoneOf("e", 9, 3, time.Minute, 30*time.Second),
				}, Pods: 9, Evicted: 1, NeedlessEvictions: 1, ReturnedPods: 1, LostEvictions: 2, Workloads: []simulation.WorkloadReport{{}},
			},
			"Zones d and c lost all of their nodes (below half for 1h and 1m), zone e lost 6 of 9 nodes (below half for 30s) and 1 more zone lost nodes: " +
				"1 pod was evicted, needlessly, because its node was silent for no longer than 10m; 2 evictions were overdue and never happened. " +
				"No workload had fewer than half of its pods live.",
		},
		"a roll that hangs": {
			"No node was lost: 868 pods were drained and 1 drain did not finish.",
			simulation.Report{
				Drains: 91, Drained: 868, DrainsUnfinished: 1, RollsUnfinished: 1, Refusals: simulation.Refusals{EvictionsRefused: 1, RefusedAtEnd: 1, LongestRefused: 13 * time.Hour}, FailedJobs: make([]simulation.FailedJob, 13),
				StuckRolls:  []simulation.StuckRoll{{Event: 1, Nodes: 300, Replaced: 90, Node: "n"}},
				StuckDrains: []simulation.StuckDrain{{Node: "m", Ended: simulation.DrainForced, At: time.Hour}, {Node: "n", At: time.Hour, Ended: simulation.DrainUnfinished, Pods: 2, First: "shop/p", Why: "no"}},
			},
			"No node was lost: no pod was evicted. 91 nodes were drained: 868 pods had to leave. The roll has replaced 90 of 300 nodes, and still drains node n at the end. " +
				"The drain of node n has not ended after 1h, with 2 pods left: pod shop/p: no (and 1 more drain got stuck, too). " +
				"Disruption budgets refused to let 1 pod go, for up to 13h, until the end. 13 Jobs failed for good.",
		},
		"drains that kubectl refuses": {
			"No node was lost: 8 pods were drained and 3 drains did not finish.",
			simulation.Report{
				Drains: 3, Drained: 8, DrainsFailed: 3,
				StuckDrains: []simulation.StuckDrain{
					{Node: "m", Ended: simulation.DrainRefused, Pods: 1, First: "shop/p", Why: "it has no controller"}, {Node: "n", Ended: simulation.DrainRefused, Pods: 2, First: "shop/q", Why: "no"},
					{Node: "o", Ended: simulation.DrainFailed, At: time.Hour, Pods: 1, First: "shop/r", Why: "two budgets"},
				},
			},
			"No node was lost: no pod was evicted. 3 nodes were drained: 8 pods had to leave. " +
				"Node m is cordoned, and nothing is evicted because of 1 pod: pod shop/p: it has no controller (and 1 more drain got stuck, too). " +
				"The drain of node o failed after 1h, with 1 pod left: pod shop/r: two budgets.",
		},
		"an outage of the API": {
			"No node was lost, but nodes were declared not Ready by mistake: no pod was evicted.",
			simulation.Report{UnknownNodes: 236, Taints: 3, Unserved: simulation.Unserved{PodsWithoutEndpoints: 2923, LongestWithoutEndpoints: 8 * time.Second}, RunningWithoutEndpoints: 2923, MedianWithoutEndpoints: 4 * time.Second},
			"No node was lost, but 236 times nodes were declared not Ready by mistake: no pod was evicted. 2,923 pods lost their endpoints for up to 8s (median 4s) although they ran.",
		},
		"pods that are stuck": {
			"No node was lost: 3 pods were evicted and 1 pod is Pending at the end.",
			simulation.Report{Pods: 9, Evicted: 3, PendingAtEnd: 1, HeldByOrder: 2, TerminatingAtEnd: 3},
			"No node was lost: 3 of 9 pods were evicted. At the end, 1 pod is Pending, 2 pods are held until a lower ordinal is Ready and 3 pods are stuck terminating.",
		},
		"pods that nothing recreates": {
			"No node was lost: 5 pods were evicted and 5 pods are lost for good.",
			simulation.Report{
				Pods: 9, Evicted: 5, LostForGood: 5, LostPods: []evictor.PodKey{{Namespace: "a", Name: "p"}, {Namespace: "a", Name: "q"}, {Namespace: "b", Name: "p"}, {Namespace: "b", Name: "q"}},
			},
			"No node was lost: 5 of 9 pods were evicted. 5 pods are lost for good, because nothing recreates them: a/p, a/q, b/p and 2 more.",
		},
		"pods that die with their nodes": {
			"No node was lost: 7 pods died with their nodes and 1 pod is lost for good.",
			simulation.Report{Pods: 9, DiedWithNodes: 7, LostForGood: 1, LostPods: []evictor.PodKey{{Namespace: "a", Name: "p"}}},
			"No node was lost: no pod was evicted, and 7 pods died with nodes that were deleted. 1 pod is lost for good, because nothing recreates it: a/p.",
		},
		"turns that have not come": {
			"No node was lost: 2 pods were evicted and 1,875 pods are still on dead nodes at the end.",
			simulation.Report{Pods: 9, Evicted: 2, Left: map[string]int{"on nodes whose turn has not come": 1870, "on nodes in zones in which evictions are stopped": 1, "still within their tolerationSeconds": 4}, NotEvicted: 1875},
			"No node was lost: 2 of 9 pods were evicted. At the end, 1,870 pods are on nodes whose turn has not come, 1 pod is on nodes in zones in which evictions are stopped and 4 pods are still within their tolerationSeconds.",
		},
		"a node's own report": {
			"No kubelet fell silent, but nodes were not Ready: no pod was evicted.",
			simulation.Report{Taints: 1, Unserved: simulation.Unserved{PodsWithoutEndpoints: 2, LongestWithoutEndpoints: time.Minute}, RunningWithoutEndpoints: 1, MedianWithoutEndpoints: time.Minute},
			"No kubelet fell silent, but nodes were not Ready: no pod was evicted. 2 pods lost their endpoints for up to 1m (median 1m), 1 of them although they ran.",
		},
		"all at once": {
			"Zones lost all of their nodes: 1 pod was evicted, 1,077 died with their nodes and 9,870 pods are still on dead nodes at the end.",
			simulation.Report{
				Zones: []simulation.ZoneReport{zoneOf("a", 9, 0, time.Hour, time.Hour), zoneOf("b", 9, 0, time.Hour, time.Hour)}, Pods: 20_000, Evicted: 1, DiedWithNodes: 1077,
				NotEvicted: 9870, Left: map[string]int{"on nodes whose turn has not come": 9870}, PendingAtEnd: 7, LostForGood: 5, LostPods: []evictor.PodKey{{Namespace: "a", Name: "p"}},
			},
			"Zones a and b lost all of their nodes (below half for 1h and 1h): 1 of 20,000 pods was evicted, and 1,077 pods died with nodes that were deleted. " +
				"5 pods are lost for good, because nothing recreates them: a/p and 4 more. At the end, 7 pods are Pending and 9,870 pods are on nodes whose turn has not come.",
		},
		"evictions from live nodes": {
			"No node was lost: 2 pods were evicted.",
			simulation.Report{Pods: 9, Evicted: 2, BudgetsBroken: 1, LongestBelowBudget: time.Minute},
			"No node was lost: 2 of 9 pods were evicted. 1 disruption budget was not kept for up to 1m.",
		},
	} {
		o := outcome.New("evictkit", "file", nil, simulation.Scenario{}, &c.report, outcome.Ignored{}.Left, nil)
		is := verdict(o)
		require.Equal(t, c.headline, is.headline)
		require.Equal(t, c.more, strings.Join(is.more, " "), name)
		require.LessOrEqual(t, len(strings.Fields(is.headline)), 30, name)
		require.LessOrEqual(t, len(regexp.MustCompile(`[\d,]*\d`).FindAllString(is.headline, -1)), 3, name)
	}
	o := outcome.New("evictkit", "file", nil, simulation.Scenario{}, &simulation.Report{Evicted: 2, Pods: 4}, outcome.Ignored{}.Left, nil)
	o.Breaches = []string{"evicted is 2, expected at most 1", "another"}
	require.Equal(t, finding{"Not as expected: no node was lost, 2 pods were evicted.", []string{
		"Not as expected: evicted is 2, expected at most 1 (and 1 more).", "No node was lost: 2 of 4 pods were evicted.",
	}}, verdict(o))
}

func TestPlayed(t *testing.T) {
	o := &outcome.Outcome{Engine: "evictkit", Scenario: "day.yaml", Set: []outcome.Field{{Name: "config.nodeEvictionRate", Value: "5"}, {Name: "until", Value: "24h"}},
		Report: &simulation.Report{Nodes: 5000, Pods: 150_000, Until: 24 * time.Hour, Zones: make([]simulation.ZoneReport, 3)}}
	require.Equal(t, "5,000 nodes in 3 zones with 150,000 pods, over 24h. Scenario: day.yaml, config.nodeEvictionRate=5, until=24h. Engine: evictkit.", played(o))
}

// Two settings whose paths end alike are told by their paths.
func TestNamesOfSettings(t *testing.T) {
	all := []string{"events.1.at", "events.2.at", "config.nodeEvictionRate"}
	for path, want := range map[string]string{"events.1.at": "events.1.at", "events.2.at": "events.2.at", "config.nodeEvictionRate": "nodeEvictionRate"} {
		require.Equal(t, want, setting(path, all))
	}
}

// Of several changes of one thing, the last holds.
func TestTheLastChangeHolds(t *testing.T) {
	o := &outcome.Outcome{Set: []outcome.Field{{Name: "until", Value: "20m"}, {Name: "until", Value: "10m"}}, Settings: []outcome.Field{{Name: "until", Value: "?"}}}
	require.Equal(t, "10m", o.Value("until"))
}

func TestBestOf(t *testing.T) {
	run := func(rate string, evicted, lost float64) *outcome.Outcome {
		return &outcome.Outcome{Set: []outcome.Field{{Name: "config.rate", Value: rate}}, Figures: map[string]float64{"evicted": evicted, "podHoursLost": lost}}
	}
	for want, runs := range map[string][]*outcome.Outcome{
		"Of 2 runs, rate 1 evicted the fewest pods (1,000), and rate 2 lost the fewest pod-hours (5).": {run("1", 1000, 6), run("2", 2000, 5)},
		"Of 2 runs, rate 1 evicted the fewest pods (0, with 152 pods still on dead nodes), and rate 2 lost the fewest pod-hours (5).": {
			{Set: []outcome.Field{{Name: "config.rate", Value: "1"}}, Figures: map[string]float64{"notEvicted": 152, "podHoursLost": 6}}, run("2", 2000, 5),
		},
		"Of 2 runs, each evicted 3 pods, and rate 2 lost the fewest pod-hours (5).":           {run("1", 3, 6), run("2", 3, 5)},
		"Of 3 runs, rate 1 evicted the fewest pods (1), and each lost 6 pod-hours.":           {run("1", 1, 6), run("2", 3, 6), run("3", 1, 6)},
		"Of 2 runs, each evicted 1 pod, and each lost 6 pod-hours. 1 run is not as expected.": {run("1", 1, 6), {Figures: map[string]float64{"evicted": 1, "podHoursLost": 6}, Breaches: []string{"x"}}},
	} {
		require.Equal(t, want, bestOf(runs, []string{"config.rate"}))
	}
}
