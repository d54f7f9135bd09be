package health

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var (
	notReady  = Rule{v1.NodeReady, v1.ConditionFalse, 10 * time.Second}
	stillNot  = Rule{v1.NodeReady, v1.ConditionFalse, 30 * time.Second}
	notKnown  = Rule{v1.NodeReady, v1.ConditionUnknown, 20 * time.Second}
	deadlock  = Rule{"KernelDeadlock", v1.ConditionTrue, 5 * time.Second}
	someRules = []Rule{stillNot, notReady, notKnown, deadlock}
)

func durations(t testing.TB, rules ...Rule) (*Durations[string], *testingclock.FakePassiveClock) {
	clk := testingclock.NewFakePassiveClock(epoch)
	d, err := NewDurations[string](DurationsConfig{Rules: rules, Clock: clk})
	require.NoError(t, err)
	return d, clk
}

// condition claims to have had its status since that second of the epoch; it claims nothing if since is negative.
func condition(kind v1.NodeConditionType, status v1.ConditionStatus, since float64) v1.NodeCondition {
	c := v1.NodeCondition{Type: kind, Status: status}
	if since >= 0 {
		c.LastTransitionTime = metav1.NewTime(at(since))
	}
	return c
}

func ready(status v1.ConditionStatus, since float64) []v1.NodeCondition {
	return []v1.NodeCondition{condition("KernelDeadlock", v1.ConditionFalse, -1), condition(v1.NodeReady, status, since)}
}

func TestDurationsKeepTheirRules(t *testing.T) {
	rules := slices.Clone(someRules)
	d, _ := durations(t, rules...)
	rules[0] = Rule{}
	require.Equal(t, someRules, d.rules, "kept as they were")
}

// Each step is an observation of one key at a second, and since when its rules' status has lasted, as far as that is known;
// below zero if no rule has it.
func TestRules(t *testing.T) {
	type step struct {
		at         float64
		conditions []v1.NodeCondition
		since      float64
	}
	no, yes, unknown := v1.ConditionFalse, v1.ConditionTrue, v1.ConditionUnknown
	for name, steps := range map[string][]step{
		"well":                          {{0, ready(yes, 0), -1}, {100, ready(yes, 0), -1}},
		"counted from the claim":        {{20, ready(no, 15), 15}, {45, ready(no, 15), 15}},
		"no claim":                      {{20, ready(no, -1), 20}, {25, ready(no, -1), 20}},
		"a claim in the future":         {{20, ready(no, 3600), 20}, {25, ready(no, 3600), 20}},
		"a claim withdrawn":             {{20, ready(no, 15), 15}, {21, ready(no, -1), 15}, {22, ready(no, 15), 15}},
		"a claim learned late":          {{20, ready(no, -1), 20}, {25, ready(no, 22), 22}},
		"recovers and fails again":      {{0, ready(no, 0), 0}, {10, ready(yes, 8), -1}, {12, ready(no, 11), 11}},
		"another status":                {{0, ready(no, 0), 0}, {9, ready(unknown, 9), 9}},
		"nobody saw it recover":         {{0, ready(no, 0), 0}, {20, ready(no, 18), 18}},
		"claims to be older than seen":  {{0, ready(yes, 0), -1}, {50, ready(yes, 0), -1}, {55, ready(no, 2), 50}},
		"claims another, older start":   {{50, ready(no, 49), 49}, {54, ready(no, 49), 49}, {55, ready(no, 3), 54}},
		"observed late":                 {{0, ready(yes, 0), -1}, {500, ready(no, 300), 300}},
		"a status that nobody asks for": {{0, ready("Maybe", 0), -1}, {5, ready("Absent", 5), -1}, {6, ready("", 6), -1}},
		"absent":                        {{5, []v1.NodeCondition{}, -1}, {21, nil, -1}, {22, []v1.NodeCondition{condition("KernelDeadlock", yes, 10)}, 21}},
		"absent ends what it was":       {{0, []v1.NodeCondition{condition("KernelDeadlock", yes, 0)}, 0}, {7, nil, -1}, {8, []v1.NodeCondition{condition("KernelDeadlock", yes, 0)}, 7}},
		"of two of a type the first":    {{0, append(ready(no, 0), ready(yes, 0)...), 0}},
		"what nobody asks for":          {{0, append(ready(yes, 0), condition("Other", no, 0)), -1}},
	} {
		t.Run(name, func(t *testing.T) {
			d, clk := durations(t, someRules...)
			for _, s := range steps {
				clk.SetTime(at(s.at))
				var want []Lasting
				for _, r := range someRules {
					if c := slices.IndexFunc(s.conditions, func(c v1.NodeCondition) bool { return c.Type == r.Type }); c >= 0 && s.conditions[c].Status == r.Status {
						want = append(want, Lasting{r, at(s.since), max(0, r.For-at(s.at).Sub(at(s.since)))})
					}
				}
				require.Equal(t, s.since < 0, want == nil)
				require.Equal(t, want, d.Observe("a", s.conditions), "at %v", s.at)
			}
			require.Equal(t, 1, d.Len())
			require.True(t, d.Forget("a"))
			require.False(t, d.Forget("a"))
		})
	}
}

// Setting the wall clock makes no status older, and a claim becomes an age once it was seen.
func TestWallIsSetBesideDurations(t *testing.T) {
	for _, one := range clockcases.Cases() {
		clk := one.Clock()
		d, err := NewDurations[string](DurationsConfig{Rules: []Rule{{"Broken", v1.ConditionTrue, 100 * time.Hour}}, Clock: clk})
		require.NoError(t, err)
		left := func(key string, since time.Time) time.Duration {
			return d.Observe(key, []v1.NodeCondition{{Type: "Broken", Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}})[0].Left
		}
		first := clk.Wall().Add(-2 * time.Hour)
		require.Equal(t, 98*time.Hour, left("before", first))
		require.Equal(t, 100*time.Hour, left("now", time.Time{}))
		clk.Set(one.Set)
		require.Equal(t, 98*time.Hour-one.Counts(), left("before", first), one)
		require.Equal(t, 100*time.Hour-one.Counts(), left("now", time.Time{}), one)
		require.Equal(t, 99*time.Hour, left("after", clk.Wall().Add(-time.Hour)), one)
	}
}

// A random sequence of observations beside what the documentation says, in words of its own.
func TestDurationsAgainstAModel(t *testing.T) {
	type state struct {
		status       v1.ConditionStatus
		since, claim float64 // below zero: nothing is claimed
	}
	r := rand.New(rand.NewSource(1))
	for left := *operationsFlag / 10; left > 0; left -= 100 {
		d, clk := durations(t, notReady, stillNot)
		known, seen := map[string]state{}, map[string]float64{}
		now := 0.0
		for range 100 {
			now += float64(r.Intn(20))
			clk.SetTime(at(now))
			key := string("abc"[r.Intn(3)])
			if r.Intn(10) == 0 {
				_, there := known[key]
				require.Equal(t, there, d.Forget(key))
				delete(known, key)
				continue
			}
			status := []v1.ConditionStatus{v1.ConditionFalse, v1.ConditionFalse, v1.ConditionTrue}[r.Intn(3)]
			claim := now - float64(r.Intn(30)-5)
			was, there := known[key]
			if there && r.Intn(2) == 0 {
				status, claim = was.status, was.claim
			}
			if claim < 0 || r.Intn(5) == 0 {
				claim = -1
			}
			is := was
			if changed := claim >= 0 && claim != was.claim; !there || status != was.status || changed {
				is = state{status, claim, claim}
				if claim < 0 || claim > now {
					is.since = now
				}
				if there {
					is.since = max(is.since, seen[key])
				}
			}
			known[key], seen[key] = is, now
			lasting := d.Observe(key, ready(status, claim))
			require.Equal(t, is.status == v1.ConditionFalse, len(lasting) == 2)
			for _, l := range lasting {
				require.Equal(t, at(is.since), l.Since)
				require.Equal(t, max(0, l.Rule.For-time.Duration((now-is.since)*float64(time.Second))), l.Left)
			}
			require.Equal(t, len(known), d.Len())
		}
	}
}
