package simulation

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

// The names of figures are those of their fields, so that there is one for each.
func TestFiguresAreNamedLikeTheirFields(t *testing.T) {
	for _, of := range []any{Report{}, Zone{}, Workload{}, Budget{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, ok := field.Tag.Lookup("figure")
			if !ok {
				continue
			}
			want := strings.ToLower(field.Name[:1]) + field.Name[1:]
			if field.Type == reflect.TypeFor[time.Duration]() {
				want += "Seconds"
			}
			require.Equal(t, want, name)
		}
	}
	require.Contains(t, new(Report).Figures(), Figure{"evictionDelayMedianSeconds", 0})
	require.Contains(t, (&Workload{Level: Level{LowestReadyShare: 0.5}}).Figures(), Figure{"lowestReadyShare", 0.5})
}

func TestExpectationsNameFigures(t *testing.T) {
	s := &scenario.Scenario{Until: at(0), Expect: []scenario.Expectation{{Figure: "evictions", AtMost: ptr(scenario.Amount(1))}, {Figure: "desired", AtMost: ptr(scenario.Amount(1))}, {Figure: "desired", Budget: "n/b"}}}
	_, err := Play(context.Background(), s, New(&Clock{}), Options{})
	require.ErrorContains(t, err, `expect 1: figure "evictions" is not one of nodes, pods,`)
	require.ErrorContains(t, err, `expect 2: figure "desired" is not one of nodes, pods,`)
	require.ErrorContains(t, err, "expect 3: neither atLeast nor atMost is set")
	require.NotContains(t, err.Error(), "expect 3: figure")
}

func TestBreachesNameThemselves(t *testing.T) {
	half := Level{Desired: 4, LowestReady: 2, LowestReadyShare: 0.5, Below: time.Minute}
	r := &Report{
		Evicted: 12, LastEviction: 90 * time.Second,
		ByZone:    []Zone{{Name: "r:a", Evicted: 7}},
		Workloads: []Workload{{Namespace: "n", Kind: "Deployment", Name: "w", Level: half}},
		Budgets:   []Budget{{Namespace: "n", Name: "b", Needed: 3, Below: time.Minute, MostBelow: 1}},
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
