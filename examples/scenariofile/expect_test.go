package scenariofile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

func TestExpectationsAreChecked(t *testing.T) {
	_, err := scenariofile.Complete("f", []byte(`until: 1m
expect:
- {figure: evictions, atMost: 1}
- {figure: desired, atMost: 1}
- {figure: desired, budget: n/b}
- {atLeast: 2, atMost: 1}
- {figure: evicted, zone: a, workload: n/Deployment/w, atMost: 1}
- {figure: desired, budget: n/b, atMost: 1}
- {figure: evicted, atMost: 1h}
- {figure: podHoursLost, atMost: 1h}
heartbeat: {interval: 0s, spread: odd}
reschedule: {after: -1s}
`), ".")
	for _, want := range []string{
		`f:3: expect 1: figure: "evictions" is not one of those of the cluster: nodes, pods,`, `f:4: expect 2: figure: "desired" is not one of those of the cluster: nodes, pods,`,
		"f:5: expect 3: neither atLeast nor atMost is set", "f:6: expect 4: figure is missing", "f:6: expect 4: atLeast is more than atMost",
		"f:7: expect 5: more than one of zone, workload and budget are set", "f:9: expect 7: atMost: evicted is not a time: write a number without a unit", "f:11: heartbeat: interval: 0s is not positive",
		`f:11: heartbeat: spread: "odd" is neither even nor none`, "f:12: reschedule: after: -1s is negative",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "expect 6")
	require.NotContains(t, err.Error(), "expect 8")
}

func TestBreachesNameThemselves(t *testing.T) {
	half := simulation.Level{Desired: 4, LowestReady: 2, LowestReadyShare: 0.5, Lows: simulation.Lows{Below: time.Minute}}
	r := &simulation.Report{
		Evicted: 12, LastEviction: 90 * time.Second, PodHoursLost: 0.5,
		Zones:     []simulation.ZoneReport{{Name: "r:a", Evicted: 7}},
		Workloads: []simulation.WorkloadReport{{NamespacedName: types.NamespacedName{Namespace: "n", Name: "w"}, Kind: "Deployment", Level: half}},
		Budgets:   []simulation.BudgetReport{{NamespacedName: types.NamespacedName{Namespace: "n", Name: "b"}, Needed: 3, Below: time.Minute, MostBelow: 1}},
	}
	require.Equal(t, []scenariofile.Check{
		{Text: "expect 1: evicted is 12, at least 12, at most 12", Holds: true},
		{Text: "expect 2: lastEvictionSeconds is 90, at least 90, at most 90", Holds: true},
		{Text: "expect 3: podHoursLost is 0.5, at least 0.5, at most 0.5", Holds: true},
		{Text: "expect 4: lowestReadyShare of workload n/Deployment/w is 0.5, at least 0.5", Holds: true},
	}, scenariofile.Checks(r, []scenariofile.Expectation{
		{Figure: "evicted", AtLeast: amount(12), AtMost: amount(12)},
		{Figure: "lastEvictionSeconds", AtLeast: amount(90), AtMost: &scenariofile.Amount{Time: 90 * time.Second}},
		{Figure: "podHoursLost", AtLeast: amount(0.5), AtMost: &scenariofile.Amount{Time: 30 * time.Minute}},
		{Figure: "lowestReadyShare", Workload: "n/Deployment/w", AtLeast: amount(0.5)},
	}))
	require.Equal(t, []string{
		"expect 1: evicted is 12, more than 11",
		"expect 2: evicted of zone r:a is 7, less than 8",
		"expect 3: lowestReadyShare of workload n/Deployment/w is 0.5, less than 0.75",
		"expect 4: belowSeconds of budget n/b is 60, more than 0",
		`expect 5: zone "r:b" does not exist: the zones are "r:a"`,
	}, scenariofile.Breaches(r, []scenariofile.Expectation{
		{Figure: "evicted", AtMost: amount(11)},
		{Figure: "evicted", Zone: "r:a", AtLeast: amount(8)},
		{Figure: "lowestReadyShare", Workload: "n/Deployment/w", AtLeast: amount(0.75)},
		{Figure: "belowSeconds", Budget: "n/b", AtMost: amount(0)},
		{Figure: "evicted", Zone: "r:b", AtMost: amount(0)},
	}))
}

// An expectation names zones as events do.
func TestExpectationsNameZonesAsEventsDo(t *testing.T) {
	r := &simulation.Report{Zones: []simulation.ZoneReport{{Name: ":", Evicted: 1}, {Name: ":b", Evicted: 2}, {Name: "r1:a", Evicted: 3}, {Name: "r1:c", Evicted: 4}, {Name: "r2:c", Evicted: 5}}}
	for zone, want := range map[string]string{
		":": "evicted of zone : is 1, more than 0", "b": "evicted of zone b is 2, more than 0", "a": "evicted of zone a is 3, more than 0",
		"r2:c": "evicted of zone r2:c is 5, more than 0", "c": `zone "c" is ambiguous: write one of "r1:c", "r2:c"`,
	} {
		require.Equal(t, []string{"expect 1: " + want}, scenariofile.Breaches(r, []scenariofile.Expectation{{Figure: "evicted", Zone: zone, AtMost: amount(0)}}))
	}
}
