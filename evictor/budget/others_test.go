package budget

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// Where these rules are published. internal/conformance plays some projects' own code beside ours; this file has the
// rest.
const (
	medik8s       = "https://github.com/medik8s/node-healthcheck-operator/blob/main/docs/configuration.md"
	medik8sStorm  = "https://github.com/medik8s/node-healthcheck-operator/pull/378"
	medik8sMax    = "https://github.com/medik8s/node-healthcheck-operator/pull/372"
	eks           = "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodeRepairConfig.html"
	karpenterNew  = "https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/disruption/repair.go"
	clusterAPI    = "https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/healthchecking"
	karpenterTemp = "https://github.com/kubernetes-sigs/karpenter/blob/v1.15.0/pkg/controllers/disruption/helpers.go"
)

// Asked about every bad member of a fleet, one after the other, each rule allows this many repairs at once. The last ones are
// nobody's.
func TestPublishedRules(t *testing.T) {
	minHealthy := func(l Limit) []Bound { return []Bound{{Name: "minHealthy", Of: Healthy, Min: l}} }
	threshold := func(l Limit) []Bound { return []Bound{{Name: "threshold", Of: Bad, Max: l}} }
	inRange := []Bound{{Name: "unhealthyRange", Of: Bad, Min: Count(1), Max: Count(3)}}
	parallel := func(l Limit) []Bound { return []Bound{{Name: "parallel", Of: Acting, Max: l}} }
	repair := []Bound{ // the zone is the pool of those that are initialized
		{Name: "breaker", Per: "pool", Of: Bad, Max: Percent(20).Up()},
		{Name: "budget", Per: "zone", Of: Acting, Max: Percent(10).Up()},
	}
	for _, row := range []struct {
		source, rule    string
		bounds          []Bound
		total, bad, may int
	}{
		{medik8s, "minHealthy is 51% by default, rounded up: 6 of 10", minHealthy(Percent(51).Up()), 10, 4, 4},
		{medik8s, "5 of 10 are too few", minHealthy(Percent(51).Up()), 10, 5, 0},
		{medik8s, "2 of 3", minHealthy(Percent(51).Up()), 3, 1, 1},
		{medik8s, "none of 2 may fail", minHealthy(Percent(51).Up()), 2, 1, 0},
		{medik8s, "minHealthy is a number", minHealthy(Count(4)), 7, 3, 3},
		{medik8s, "one less", minHealthy(Count(4)), 7, 4, 0},
		{medik8s, "minHealthy of -1: all but one", threshold(Count(1)), 9, 1, 1},
		{medik8s, "minHealthy of -1, and two failed", threshold(Count(1)), 9, 2, 0},
		{medik8sMax, "maxUnhealthy", threshold(Count(2)), 9, 2, 2},
		{medik8sMax, "maxUnhealthy, and one more", threshold(Count(2)), 9, 3, 0},
		{eks, "maxUnhealthyNodeThresholdCount", threshold(Count(3)), 20, 3, 3},
		{eks, "maxUnhealthyNodeThresholdCount, and one more", threshold(Count(3)), 20, 4, 0},
		{eks, "maxUnhealthyNodeThresholdPercentage", threshold(Percent(20)), 20, 4, 4},
		{eks, "maxUnhealthyNodeThresholdPercentage, and one more", threshold(Percent(20)), 20, 5, 0},
		{eks, "maxParallelNodesRepairedCount", parallel(Count(2)), 20, 4, 2},
		{karpenterNew, "a fifth of the pool may be bad, and a tenth be repaired at a time", repair, 10, 2, 1},
		{karpenterNew, "both are rounded up", repair, 11, 3, 2},
		{karpenterNew, "above a fifth nothing is repaired", repair, 10, 3, 0},
		{clusterAPI, "unhealthyRange", inRange, 100, 3, 3},
		{clusterAPI, "unhealthyRange, and above it", inRange, 100, 4, 0},
		{"", "at most one unavailable, it is", []Bound{{Name: "u", Of: Unavailable, Max: Count(1)}}, 3, 1, 1},
		{"", "at most one unavailable, two are", []Bound{{Name: "u", Of: Unavailable, Max: Count(1)}}, 3, 2, 0},
		{"", "none where there is a pool", []Bound{{Name: "w", Of: Acting, Max: Count(0), Without: "pool"}}, 3, 1, 1},
		{"", "a tenth of eleven, rounded up, lately", []Bound{{Name: "r", Of: Recent, Max: Percent(10).Up(), Within: time.Hour}}, 11, 2, 2},
		{"", "a tenth of five, lately", []Bound{{Name: "r", Of: Recent, Max: Percent(10), Within: time.Hour}}, 5, 1, 0},
	} {
		t.Run(row.rule, func(t *testing.T) {
			b, may := fleet(t, row.total, row.bad, row.bounds...), 0
			for i := range row.bad {
				if r, err := b.Reserve(fmt.Sprint(i)); err == nil {
					require.True(t, r.Commit())
					may++
				}
			}
			require.Equal(t, row.may, may, row.source)
		})
	}
}

// Karpenter's newer repair ignores nodes that are not initialized: its budget neither asks about them nor counts them.
// Vetoed nodes are left alone. Bad nodes of either kind take nothing from the budget; only repairs do.
func TestKarpentersBudgetIsOfInitializedNodes(t *testing.T) {
	b := fleet(t, 20, 4, Bound{Name: "budget", Per: "zone", Of: Acting, Max: Percent(10).Up()}) // 10 % of 20: two at a time
	b.Set("0", thing{pool: "p", weight: 1, counts: true, bad: true, ok: true})                  // not initialized
	b.Set("1", thing{pool: "p", zone: "a", weight: 1, counts: true, bad: true})                 // vetoed
	st, ok := b.Status("budget", "a")
	require.True(t, ok)
	require.Equal(t, Status{Total: 19, Max: 2, Min: -1}, st, karpenterTemp)
	for key, want := range map[string]error{"0": nil, "1": ErrNotActionable, "2": nil, "3": nil} {
		r, err := b.Reserve(key)
		require.ErrorIs(t, err, want, key)
		r.Commit()
	}
	b.Set("4", thing{pool: "p", zone: "a", weight: 1, counts: true, bad: true, ok: true})
	_, err := b.Reserve("4")
	require.EqualError(t, err, `budget "budget" allows at most 2 in zone "a": 3 is too many`)
}

// medik8s: of seven nodes four must be healthy. A storm begins with the fourth failure. It is over once enough nodes
// have been healthy for stormCooldownDuration. A second one begins anew.
func TestStormOfMedik8s(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	config := things(Bound{Name: "minHealthy", Of: Healthy, Min: Count(4), Quiet: 2 * time.Minute})
	config.Clock = clock
	b, err := New(config)
	require.NoError(t, err)
	is := func(key int, bad bool) {
		b.Set(fmt.Sprint(key), thing{weight: 1, counts: true, bad: bad, ok: true})
	}
	may := func(key int) bool {
		r, err := b.Reserve(fmt.Sprint(key))
		r.Commit()
		return err == nil
	}
	for i := range 7 {
		is(i, i < 3)
	}
	require.True(t, may(0) && may(1) && may(2), medik8sStorm)
	for range 2 {
		is(3, true)
		require.False(t, may(3), "a storm")
		clock.Step(time.Hour)
		require.False(t, may(3), "it goes on")
		b.End("0")
		is(0, false)
		clock.Step(2*time.Minute - 1)
		require.False(t, may(3), "it cools down")
		clock.Step(1)
		require.True(t, may(3), "it is over")
		b.End("3")
		is(3, false)
		is(0, true)
		require.True(t, may(0))
	}
}

// Next knows about a later refusal too, even if nobody asked it between the two.
func TestNextAfterALateRefusal(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	config := things(Bound{Name: "r", Of: Recent, Within: 10 * time.Second, Max: Count(1)})
	config.Clock = clock
	b, err := New(config)
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		b.Set(key, thing{weight: 1, ok: true})
	}
	for _, key := range []string{"a", "b"} {
		r, err := b.Reserve(key)
		require.NoError(t, err)
		require.True(t, r.Commit())
		_, err = b.Reserve("c")
		require.Error(t, err)
		clock.Step(10 * time.Second)
	}
	r, err := b.Reserve("c")
	require.NoError(t, err)
	require.True(t, r.Commit())
	b.End("a")
	_, err = b.Reserve("a")
	require.Error(t, err)
	next, ok := b.Next()
	require.True(t, ok)
	require.Equal(t, clockBegin.Add(30*time.Second), next)
}
