package health

import (
	"fmt"
	"runtime"
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

func expired[K comparable](d *Durations[K]) (all []string) {
	for key, rule := range d.Expired() {
		all = append(all, fmt.Sprint(key, " ", rule.Type, " ", rule.Status, " ", rule.For))
	}
	return all
}

func TestDurationsConfig(t *testing.T) {
	for want, rules := range map[string][]Rule{
		"rules: Required":               nil,
		"rules[0].type: Required":       {{"", v1.ConditionTrue, 1}},
		"rules[0].status: Unsupported":  {{"Ready", "", 1}},
		"rules[1].status: Unsupported":  {{"Ready", v1.ConditionTrue, 1}, {"Ready", "true", 1}},
		"rules[0].for: Invalid":         {{"Ready", v1.ConditionTrue, 0}},
		"rules[1].for: Invalid":         {{"Ready", v1.ConditionTrue, 1}, {"Ready", v1.ConditionTrue, -1}},
		"rules[1]: Duplicate":           {{"Ready", v1.ConditionTrue, 1}, {"Ready", v1.ConditionTrue, 1}},
		"\"Unknown\"":                   {{"Ready", "Absent", 1}},
		"rules[2].for: Invalid value: ": {{"Ready", v1.ConditionTrue, 1}, {"Ready", v1.ConditionTrue, 2}, {"Ready", v1.ConditionFalse, 0}},
	} {
		_, err := NewDurations[string](DurationsConfig{Rules: rules})
		require.ErrorContains(t, err, want)
	}
	all := DurationsConfig{Rules: []Rule{{"", "", 0}}}.Validate()
	for _, fault := range []string{"type", "status", "for"} {
		require.ErrorContains(t, all, fault)
	}
	rules := slices.Clone(someRules)
	d, _ := durations(t, rules...)
	rules[0] = Rule{}
	require.Equal(t, someRules, d.rules, "kept as they were")
}

// Each step is an observation of one key at a second, and what is returned then.
func TestRules(t *testing.T) {
	type step struct {
		at         float64
		conditions []v1.NodeCondition // nil: nothing is observed
		ended      []Rule
		expired    []string
		next       float64 // below zero: never
	}
	no, yes, unknown := v1.ConditionFalse, v1.ConditionTrue, v1.ConditionUnknown
	for name, steps := range map[string][]step{
		"well": {{0, ready(yes, 0), nil, nil, -1}, {100, nil, nil, nil, -1}},
		"counted from the claim": {
			{20, ready(no, 15), nil, nil, 25}, {24.9, nil, nil, nil, 25},
			{25, nil, nil, []string{"a Ready False 10s"}, 45}, {45, nil, nil, []string{"a Ready False 30s"}, -1},
		},
		"both at once, in their order, when it has long been so": {{100, ready(no, 3), nil, []string{"a Ready False 10s", "a Ready False 30s"}, -1}, {200, ready(no, 3), nil, nil, -1}},
		"no claim":                       {{20, ready(no, -1), nil, nil, 30}, {25, ready(no, -1), nil, nil, 30}},
		"a claim in the future":          {{20, ready(no, 3600), nil, nil, 30}, {25, ready(no, 3600), nil, nil, 30}},
		"a claim withdrawn":              {{20, ready(no, 15), nil, nil, 25}, {21, ready(no, -1), nil, nil, 25}, {22, ready(no, 15), nil, nil, 25}},
		"a claim learned late":           {{20, ready(no, -1), nil, nil, 30}, {25, ready(no, 22), nil, nil, 32}},
		"recovers in time":               {{0, ready(no, 0), nil, nil, 10}, {9, ready(yes, 8), nil, nil, -1}, {60, nil, nil, nil, -1}},
		"recovers and fails again":       {{0, ready(no, 0), nil, nil, 10}, {10, ready(yes, 8), nil, nil, -1}, {12, ready(no, 11), nil, nil, 21}},
		"recovers after it was told":     {{0, ready(no, 0), nil, nil, 10}, {12, nil, nil, []string{"a Ready False 10s"}, 30}, {13, ready(yes, 13), []Rule{notReady}, nil, -1}, {14, ready(yes, 13), nil, nil, -1}},
		"another status":                 {{0, ready(no, 0), nil, nil, 10}, {9, ready(unknown, 9), nil, nil, 29}},
		"nobody saw it recover":          {{0, ready(no, 0), nil, nil, 10}, {12, nil, nil, []string{"a Ready False 10s"}, 30}, {20, ready(no, 18), []Rule{notReady}, nil, 28}},
		"nobody saw it, and it is due":   {{0, ready(no, 0), nil, []string(nil), 10}, {12, nil, nil, []string{"a Ready False 10s"}, 30}, {40, ready(no, 18), []Rule{notReady}, []string{"a Ready False 10s"}, 48}},
		"claims to be older than seen":   {{0, ready(yes, 0), nil, nil, -1}, {50, ready(yes, 0), nil, nil, -1}, {55, ready(no, 2), nil, nil, 60}},
		"claims another, older start":    {{50, ready(no, 49), nil, nil, 59}, {54, ready(no, 49), nil, nil, 59}, {55, ready(no, 3), nil, nil, 64}},
		"observed late":                  {{0, ready(yes, 0), nil, nil, -1}, {500, ready(no, 300), nil, []string{"a Ready False 10s", "a Ready False 30s"}, -1}},
		"a status that nobody asks for":  {{0, ready("Maybe", 0), nil, nil, -1}, {5, ready("Absent", 5), nil, nil, -1}, {6, ready("", 6), nil, nil, -1}},
		"absent is not what one says":    {{5, []v1.NodeCondition{condition("KernelDeadlock", "Absent", 0)}, nil, nil, -1}},
		"absent":                         {{5, []v1.NodeCondition{}, nil, nil, -1}, {10, []v1.NodeCondition{condition("KernelDeadlock", no, 3)}, nil, nil, -1}},
		"absent for long":                {{5, []v1.NodeCondition{}, nil, nil, -1}, {21, []v1.NodeCondition{}, nil, nil, -1}, {22, []v1.NodeCondition{condition("KernelDeadlock", yes, 10)}, nil, nil, 26}},
		"gone absent counts as seen":     {{0, ready(no, 0), nil, nil, 10}, {5, ready(no, 0)[1:], nil, nil, 10}, {10, nil, nil, []string{"a Ready False 10s"}, 30}, {20, nil, nil, nil, 30}},
		"absent ends what it was":        {{0, []v1.NodeCondition{condition("KernelDeadlock", yes, 0)}, nil, []string(nil), 5}, {6, nil, nil, []string{"a KernelDeadlock True 5s"}, -1}, {7, []v1.NodeCondition{}, []Rule{deadlock}, nil, -1}, {8, []v1.NodeCondition{condition("KernelDeadlock", yes, 0)}, nil, nil, 12}},
		"of two of a type the first":     {{0, append(ready(no, 0), ready(yes, 0)...), nil, nil, 10}},
		"what nobody asks for":           {{0, append(ready(yes, 0), condition("Other", no, 0)), nil, nil, -1}},
		"time before any that fits ends": {{10, []v1.NodeCondition{condition("KernelDeadlock", no, 0), {Type: v1.NodeReady, Status: no, LastTransitionTime: metav1.NewTime(time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC))}}, nil, []string{"a Ready False 10s", "a Ready False 30s"}, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			d, clk := durations(t, someRules...)
			for _, s := range steps {
				clk.SetTime(at(s.at))
				if s.conditions != nil {
					require.Equal(t, s.ended, d.Observe("a", s.conditions), "at %v", s.at)
				}
				require.Equal(t, s.expired, expired(d), "at %v", s.at)
				require.Empty(t, expired(d), "each once")
				next, ok := d.Next()
				require.Equal(t, s.next >= 0, ok, "at %v", s.at)
				if ok {
					require.Equal(t, at(s.next), next, "at %v", s.at)
				}
			}
		})
	}
}

func TestWhatLasts(t *testing.T) {
	d, clk := durations(t, someRules...)
	_, ok := d.Get("a")
	require.False(t, ok)
	clk.SetTime(at(40))
	d.Observe("a", []v1.NodeCondition{condition(v1.NodeReady, v1.ConditionFalse, 25)})
	require.Equal(t, []string{"a Ready False 10s"}, expired(d))
	all, ok := d.Get("a")
	require.True(t, ok)
	require.Equal(t, []Lasting{
		{Rule: stillNot, Since: at(25), Left: 15 * time.Second},
		{Rule: notReady, Since: at(25), HandedOut: true},
	}, all)
	all, _ = d.GetAt("a", at(55))
	require.Zero(t, all[0].Left)
	require.False(t, all[0].HandedOut, "but not handed out")
	d.Observe("a", ready(v1.ConditionTrue, -1))
	all, ok = d.Get("a")
	require.True(t, ok)
	require.Empty(t, all, "it is well")
	require.True(t, d.Forget("a"))
	require.False(t, d.Forget("a"))
	require.Zero(t, d.Len())
	_, ok = d.Next()
	require.False(t, ok)
}

// The body of the loop over Expired may call any method.
func TestExpiredOfDurationsFromInside(t *testing.T) {
	d, clk := durations(t, someRules...)
	for _, key := range []string{"a", "b", "c"} {
		d.Observe(key, ready(v1.ConditionFalse, -1))
		clk.SetTime(clk.Now().Add(time.Second))
	}
	clk.SetTime(at(100))
	var told []string
	for key := range d.Expired() {
		told = append(told, key)
		d.Forget(key)
		if key == "b" {
			break
		}
	}
	require.Equal(t, []string{"a", "b"}, told, "in order, and no second rule of who was forgotten")
	require.Equal(t, []string{"c Ready False 10s", "c Ready False 30s"}, expired(d))
}

// Setting the wall clock makes no status older, and a claim becomes an age once it was seen.
func TestWallIsSetBesideDurations(t *testing.T) {
	claimed := func(since time.Time) []v1.NodeCondition {
		return []v1.NodeCondition{{Type: "Broken", Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
	for _, one := range clockcases.Cases() {
		clk := one.Clock()
		d, err := NewDurations[string](DurationsConfig{Rules: []Rule{{"Broken", v1.ConditionTrue, 10 * time.Hour}}, Clock: clk})
		require.NoError(t, err)
		first := claimed(clk.Wall().Add(-2 * time.Hour))
		d.Observe("before", first)
		d.Observe("now", claimed(time.Time{}))
		clk.Set(one.Set)
		d.Observe("before", first)
		left := func(key string) time.Duration {
			all, _ := d.Get(key)
			require.Equal(t, all[0].Left, max(0, all[0].Since.Add(10*time.Hour).Sub(clk.Now())), one)
			return all[0].Left
		}
		require.Equal(t, max(0, 8*time.Hour-one.Counts()), left("before"), one)
		require.Equal(t, max(0, 10*time.Hour-one.Counts()), left("now"), one)
		require.Equal(t, one.Counts() >= 10*time.Hour, slices.Contains(expired(d), "now Broken True 10h0m0s"), one)
		d.Observe("after", claimed(clk.Wall().Add(-time.Hour)))
		require.Equal(t, 9*time.Hour, left("after"), one)
		clk.Pass(time.Hour)
		d.Observe("after", nil)
		back := clockcases.Case{Monotonic: one.Monotonic, Set: -one.Set}
		clk.Set(back.Set)
		d.Next()
		clk.Pass(time.Minute)
		d.Observe("after", claimed(clk.Wall().Add(-5*time.Hour)))
		require.Equal(t, 10*time.Hour-min(5*time.Hour, back.Counts()+time.Minute), left("after"), "no older than the observation before: %v", one)
	}
}

// A key that cannot be hashed panics in its caller, with no lock held and nothing changed.
func TestDurationsOfAKeyThatCannotBeHashed(t *testing.T) {
	d, err := NewDurations[any](DurationsConfig{Rules: someRules})
	require.NoError(t, err)
	d.Observe("x", nil)
	bad := []int{1}
	for name, operation := range map[string]func(){
		"Observe": func() { d.Observe(bad, nil) },
		"Get":     func() { d.Get(bad) },
		"Forget":  func() { d.Forget(bad) },
		"Restore": func() {
			_ = d.Restore(DurationsSnapshot[any]{Version: 1, Keys: []ConditionsSnapshot[any]{{Key: "y"}, {Key: bad}}})
		},
	} {
		require.Panics(t, operation, name)
		require.Equal(t, 1, d.Len())
	}
	require.Len(t, d.Snapshot().Keys, 1)
}

// An observation without news, or with a change that ends no rule, allocates nothing.
func TestObserveAllocatesNothing(t *testing.T) {
	d, _ := durations(t, someRules...)
	both := [][]v1.NodeCondition{ready(v1.ConditionFalse, 0), ready(v1.ConditionTrue, 0)}
	d.Observe("a", both[0])
	n := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		n++
		d.Observe("a", both[n/2%2])
	}))
}

func TestMemoryFollowsTheDurations(t *testing.T) {
	const keys = 60_000
	d, err := NewDurations[int](DurationsConfig{Rules: someRules, Clock: testingclock.NewFakePassiveClock(epoch)})
	require.NoError(t, err)
	before := heapInUse()
	for i := range keys {
		d.Observe(i, ready(v1.ConditionFalse, 0))
	}
	peak := heapInUse() - before
	t.Logf("%d B a key", peak/keys)
	for i := range keys {
		d.Forget((i * 7919) % keys)
	}
	require.Zero(t, d.Len())
	require.Less(t, float64(heapInUse())-float64(before), 0.05*float64(peak))
	runtime.KeepAlive(d)
}
