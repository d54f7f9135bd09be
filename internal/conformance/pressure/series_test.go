package pressure

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/conformance/rule"
)

// played returns a series and what the kubelet did.
func played(t *testing.T, seed int64) (s *series, passes []pass) {
	t.Helper()
	s = newSeries(seed)
	return s, bubbled(t, s)
}

// bubbled plays a series on the kubelet's manager, in virtual time.
func bubbled(t *testing.T, s *series) (passes []pass) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		passes, err = playKubelet(s)
		require.NoError(t, err)
	})
	return passes
}

// TestSeries: random series give the same result with the kubelet and with ours, except for the rules. Each rule makes
// a difference somewhere.
func TestSeries(t *testing.T) {
	seeds := int64(1000)
	if testing.Short() {
		seeds = 300
	}
	fired := map[Rule]int{}
	var killed, reclaimed, rejected, passed, under int
	for seed := range seeds {
		s, passes := played(t, seed)
		differs, err := replayed(s, passes)
		require.NoError(t, err)
		require.Empty(t, differs, fmt.Sprintf("seed %d", seed))
		for _, rule := range decisions {
			differs, err := replayed(s, passes, rule)
			require.NoError(t, err)
			fired[rule] += len(differs)
		}
		for _, p := range passes {
			passed++
			killed += len(p.killed)
			reclaimed += len(p.reclaimed)
			under += len(p.conditions)
			for _, a := range p.admitted {
				if !a.Admit {
					rejected++
				}
			}
		}
	}
	t.Logf("%d passes: %d kills, %d times something reclaimed, %d conditions, %d pods rejected", passed, killed, reclaimed, under, rejected)
	for _, rule := range decisions {
		t.Logf("%s: %d", rule.Name, fired[rule])
		require.Positive(t, fired[rule], rule.Name)
	}
	for _, n := range []int{killed, reclaimed, under, rejected} {
		require.Greater(t, n, int(seeds))
	}
}

// TestRulesNameTheirRows: each rule's row begins like that in DIFFERENCES.md.
func TestRulesNameTheirRows(t *testing.T) {
	require.NoError(t, rule.Check(append([]Rule{HardPreempts, PassedOver, OneOfEach, ParseOff, ParseStrict, EveryFault}, decisions...)))
}
