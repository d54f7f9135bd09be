package simulator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

// Each figure that a scenario may bound has a value.
func TestEveryFigureHasAValue(t *testing.T) {
	names := func(figures []Figure) (names []string) {
		for _, f := range figures {
			names = append(names, f.Name)
		}
		return names
	}
	require.Equal(t, scenario.ClusterFigures, names(new(Report).Figures()))
	require.Equal(t, scenario.ZoneFigures, names(new(Zone).Figures()))
	require.Equal(t, scenario.WorkloadFigures, names(new(Workload).Figures()))
	require.Equal(t, scenario.BudgetFigures, names(new(Budget).Figures()))
}

func TestBreachesNameThemselves(t *testing.T) {
	half := Level{Desired: 4, Lowest: 2, Below: time.Minute}
	r := &Report{
		Evicted: 12, Last: 90 * time.Second,
		ByZone:    []Zone{{Name: "r:a", Evicted: 7}},
		Workloads: []Workload{{Namespace: "n", Kind: "Deployment", Name: "w", Level: half}},
		Budgets:   []Budget{{Namespace: "n", Name: "b", Needed: 3, Level: half, BelowNeeded: time.Minute, MostBelow: 1}},
	}
	amount := func(v float64) *scenario.Amount { return ptr(scenario.Amount(v)) }
	require.Empty(t, r.Breaches([]scenario.Expectation{
		{Figure: "evicted", AtLeast: amount(12), AtMost: amount(12)},
		{Figure: "lastEvictionSeconds", AtMost: amount(90)},
		{Figure: "lowestReadyShare", Workload: "n/Deployment/w", AtLeast: amount(0.5)},
	}))
	require.Equal(t, []string{
		"expect 1: evicted is 12, more than 11",
		"expect 2: evicted of zone r:a is 7, less than 8",
		"expect 3: lowestReadyShare of workload n/Deployment/w is 0.5, less than 0.75",
		"expect 4: belowSeconds of budget n/b is 60, more than 0",
		`expect 5: zone "r:b" does not exist`,
	}, r.Breaches([]scenario.Expectation{
		{Figure: "evicted", AtMost: amount(11)},
		{Figure: "evicted", Zone: "r:a", AtLeast: amount(8)},
		{Figure: "lowestReadyShare", Workload: "n/Deployment/w", AtLeast: amount(0.75)},
		{Figure: "belowSeconds", Budget: "n/b", AtMost: amount(0)},
		{Figure: "evicted", Zone: "r:b", AtMost: amount(0)},
	}))
}

// An expectation names zones as events do.
func TestExpectationsNameZonesAsEventsDo(t *testing.T) {
	r := &Report{ByZone: []Zone{{Name: ":", Evicted: 1}, {Name: ":b", Evicted: 2}, {Name: "r1:a", Evicted: 3}, {Name: "r1:c", Evicted: 4}, {Name: "r2:c", Evicted: 5}}}
	breach := func(zone string) []string {
		return r.Breaches([]scenario.Expectation{{Figure: "evicted", Zone: zone, AtMost: ptr(scenario.Amount(0))}})
	}
	require.Equal(t, []string{"expect 1: evicted of zone : is 1, more than 0"}, breach(":"))
	require.Equal(t, []string{"expect 1: evicted of zone b is 2, more than 0"}, breach("b"))
	require.Equal(t, []string{"expect 1: evicted of zone a is 3, more than 0"}, breach("a"))
	require.Equal(t, []string{"expect 1: evicted of zone r2:c is 5, more than 0"}, breach("r2:c"))
	require.Equal(t, []string{`expect 1: zone "c" is ambiguous: write one of "r1:c", "r2:c"`}, breach("c"))
}
