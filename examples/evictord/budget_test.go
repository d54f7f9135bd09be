package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/examples/budgetfile"
)

func budgetOf(t *testing.T, on clock.PassiveClock, text string) (*limits, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "budget.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	l, err := readBudget(path, on)
	if err != nil {
		require.ErrorContains(t, err, "--budget="+path+": ")
	}
	return l, err
}

// TestABudgetOfAFile bounds what is tainted, in each group of a label, and what it counts is told.
func TestABudgetOfAFile(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.Zone("b", 9)) // a fifth of nine is rounded up
	l, err := budgetOf(t, c.Clock(), pageBlock(t, "exceeded:"))
	require.NoError(t, err)
	options, err := l.on(evictor.DefaultConfig().Nodes, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	e := c.Start(evictor.DefaultConfig(), options)
	c.Fail("a-0", "a-1", "a-2", "b-0")
	c.Advance(5 * time.Minute)
	require.True(t, c.HasNoExecute("b-0"))
	for _, node := range []string{"a-0", "a-1", "a-2"} {
		require.False(t, c.HasNoExecute(node), "more than a fifth of the zone is not ready")
	}
	require.EqualValues(t, true, l.file.Exceeded)
	require.Equal(t, `evictkit_budget_limit{bound="a fifth of a zone",group="a",limit="max"} 2
evictkit_budget_limit{bound="a fifth of a zone",group="b",limit="max"} 2
evictkit_budget_limit{bound="ten an hour",group="",limit="max"} 10
evictkit_budget_shut{bound="a fifth of a zone",group="a"} 1
evictkit_budget_shut{bound="a fifth of a zone",group="b"} 0
evictkit_budget_shut{bound="ten an hour",group=""} 0
evictkit_budget_used{bound="a fifth of a zone",group="a"} 3
evictkit_budget_used{bound="a fifth of a zone",group="b"} 1
evictkit_budget_used{bound="ten an hour",group=""} 1
`, metricsOf(t, l))
	d := debugged{e: asControllers(e), mayWrite: func() error { return nil }, observer: func() error { return nil }, brakes: &brakes{}, budget: l}
	d.brakes.last.Store(&brakesRead{})
	two := int64(2)
	require.Equal(t, boundState{Bound: "a fifth of a zone", Group: "a", Used: 3, Max: &two, Shut: true}, d.state(0).Budget[0])
}

func TestFaultsOfABudgetAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                    "bounds: there are none",
		"bound: []":                             "line 1: field bound not found",
		"bounds: [{name: a, of: bad, max: 1}]":  `"bad" must be Bad, Unavailable, Healthy, Acting or Recent`,
		"bounds: [{name: a, of: Bad, min: x%}]": `"x%" must be a number, a percentage such as 20%, or the larger of both, such as 45% or 3`,
		"bounds: [{name: a, of: Bad, max: half}]":                  `"half" must be a number, a percentage such as 20%, or the larger of both, such as 45% or 3`,
		"bounds: [{name: a, of: Bad, max: 101%}]":                  "bounds[0].max: Invalid value",
		"{bounds: [{name: a, of: Bad, max: 1}], exceeded: Cancel}": `"Cancel" must be GoOn or Wait`,
		"bounds: [{name: a, of: Bad, max: 1, within: 1h}]":         "bounds[0].within",
	} {
		_, err := budgetOf(t, clock.RealClock{}, text)
		require.ErrorContains(t, err, want)
	}
	_, err := readBudget("/no/such", clock.RealClock{})
	require.EqualError(t, err, "--budget=/no/such: open /no/such: no such file or directory")
	_, err = parse([]string{"--budget=b", "--half=taint-eviction"}, io.Discard)
	require.EqualError(t, err, "--budget=b: has no meaning with --half=taint-eviction, which taints no nodes")
	_, err = parse([]string{"--announced-maintenance=1h", "--half=taint-eviction"}, io.Discard)
	require.EqualError(t, err, "--announced-maintenance=1h0m0s: has no meaning with --half=taint-eviction, which taints no nodes")
}

func TestALimitIsTheLargerOfAShareAndANumber(t *testing.T) {
	var limit budgetfile.Limit
	require.NoError(t, limit.UnmarshalText([]byte("45% or 3")))
	require.Equal(t, budget.Percent(45).Up().AtLeast(3), limit.Limit)
	require.Error(t, limit.UnmarshalText([]byte("45% or many")))
}

// A bound whose label no node has is warned of once.
func TestABoundThatAppliesToNoNodeIsWarnedOf(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	l, err := budgetOf(t, c.Clock(), "bounds: [{name: of a rack, per: rack, of: Bad, max: 1}, {name: all, of: Bad, max: 1}]")
	require.NoError(t, err)
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	l.look(logger)
	require.Empty(t, log.String(), "there are no nodes")
	options, err := l.on(evictor.DefaultConfig().Nodes, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Start(evictor.DefaultConfig(), options)
	l.look(logger)
	l.look(logger)
	require.Equal(t, 1, strings.Count(log.String(), `bounds="[of a rack]"`))
}
