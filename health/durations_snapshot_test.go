package health

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
)

func TestDurationsSnapshot(t *testing.T) {
	d, clk := durations(t, someRules...)
	d.Observe("a", ready(v1.ConditionFalse, -1))
	clk.SetTime(at(4))
	d.Observe("b", []v1.NodeCondition{condition(v1.NodeReady, v1.ConditionFalse, 2), condition("KernelDeadlock", "Maybe", -1)})
	clk.SetTime(at(11))
	require.Equal(t, []string{"a Ready False 10s"}, expired(d))
	text, err := json.Marshal(d.Snapshot())
	require.NoError(t, err)
	require.JSONEq(t, `{"version":1,"keys":[
		{"key":"a","seen":11000000000,"conditions":[{"type":"Ready","status":"False","lasted":11000000000,"handedOut":10000000000},{"type":"KernelDeadlock","status":"False","lasted":11000000000}]},
		{"key":"b","seen":7000000000,"conditions":[{"type":"Ready","status":"False","lasted":9000000000,"transition":946684802000000000},{"type":"KernelDeadlock","lasted":7000000000}]}]}`, string(text))
	var snapshot DurationsSnapshot[string]
	require.NoError(t, json.Unmarshal(text, &snapshot))

	other, clock := durations(t, someRules...)
	require.NoError(t, other.Restore(snapshot))
	require.ErrorContains(t, other.Restore(snapshot), "beside the 2 keys")
	require.Equal(t, snapshot, other.Snapshot())
	clock.SetTime(at(1))
	require.Equal(t, []string{"b Ready False 10s"}, expired(other))
	require.Empty(t, other.Observe("b", snapshotOfB()), "no news")
	require.Equal(t, []Rule{notReady}, other.Observe("a", ready(v1.ConditionTrue, 0)), "told by the one before")

	// Under other rules.
	longer, added := Rule{v1.NodeReady, v1.ConditionFalse, 12 * time.Second}, Rule{"Added", v1.ConditionTrue, time.Minute}
	other, clock = durations(t, longer, Rule{v1.NodeReady, v1.ConditionFalse, 5 * time.Second}, added)
	require.NoError(t, other.Restore(snapshot))
	require.Equal(t, []string{"b Ready False 5s"}, expired(other), "that of a counts as handed out")
	require.Len(t, other.Snapshot().Keys[0].Conditions, 1)
	clock.SetTime(at(1))
	require.Equal(t, []string{"a Ready False 12s"}, expired(other))
	clock.SetTime(at(3700))
	other.Observe("a", append(ready(v1.ConditionTrue, 3600), condition("Added", v1.ConditionTrue, 100)))
	all, _ := other.Get("a")
	require.Equal(t, []Lasting{{Rule: added, Since: at(100)}}, all, "seen for the first time, and believed as that")
}

func snapshotOfB() []v1.NodeCondition {
	return []v1.NodeCondition{condition(v1.NodeReady, v1.ConditionFalse, 2), condition("KernelDeadlock", "Perhaps", -1)}
}

func TestDurationsRefuseASnapshot(t *testing.T) {
	with := func(change func(s *DurationsSnapshot[string], c *ConditionSnapshot)) DurationsSnapshot[string] {
		s := DurationsSnapshot[string]{Version: 1, Keys: []ConditionsSnapshot[string]{{Key: "a"}, {Key: "b", Seen: 5, Conditions: []ConditionSnapshot{
			{Type: "Ready", Status: v1.ConditionTrue, Lasted: 7, HandedOut: 6}, {Type: "Else", Lasted: 5},
		}}}}
		change(&s, &s.Keys[1].Conditions[0])
		return s
	}
	for name, s := range map[string]DurationsSnapshot[string]{
		"version":              with(func(s *DurationsSnapshot[string], _ *ConditionSnapshot) { s.Version = 2 }),
		"no version":           with(func(s *DurationsSnapshot[string], _ *ConditionSnapshot) { s.Version = 0 }),
		"a key twice":          with(func(s *DurationsSnapshot[string], _ *ConditionSnapshot) { s.Keys[0].Key = "b" }),
		"seen in the future":   with(func(s *DurationsSnapshot[string], _ *ConditionSnapshot) { s.Keys[0].Seen = -1 }),
		"a condition twice":    with(func(_ *DurationsSnapshot[string], c *ConditionSnapshot) { c.Type = "Else" }),
		"status":               with(func(_ *DurationsSnapshot[string], c *ConditionSnapshot) { c.Status = "Maybe" }),
		"begun after seen":     with(func(_ *DurationsSnapshot[string], c *ConditionSnapshot) { c.Lasted, c.HandedOut = 4, 0 }),
		"told before its time": with(func(_ *DurationsSnapshot[string], c *ConditionSnapshot) { c.HandedOut = 8 }),
		"told":                 with(func(_ *DurationsSnapshot[string], c *ConditionSnapshot) { c.HandedOut = -1 }),
		"told of no rule":      with(func(_ *DurationsSnapshot[string], c *ConditionSnapshot) { c.Status = "" }),
	} {
		d, _ := durations(t, someRules...)
		require.Error(t, d.Restore(s), name)
		require.Zero(t, d.Len())
		require.NoError(t, d.Restore(with(func(*DurationsSnapshot[string], *ConditionSnapshot) {})), "nothing has changed")
		require.Equal(t, 2, d.Len())
	}
}

// Extreme ages and times do not overflow.
func TestDurationsWithoutEnd(t *testing.T) {
	d, clk := durations(t, Rule{"x", v1.ConditionTrue, math.MaxInt64}, Rule{"x", v1.ConditionTrue, time.Hour})
	require.NoError(t, d.Restore(DurationsSnapshot[string]{Version: 1, Keys: []ConditionsSnapshot[string]{
		{Key: "old", Seen: math.MaxInt64, Conditions: []ConditionSnapshot{{Type: "x", Status: v1.ConditionTrue, Lasted: math.MaxInt64}}},
	}}))
	clk.SetTime(at(1))
	d.Observe("new", []v1.NodeCondition{condition("x", v1.ConditionTrue, -1)})
	require.Equal(t, []string{"old x True 1h0m0s", "old x True 2562047h47m16.854775807s"}, expired(d))
	clk.SetTime(at(7200))
	require.Equal(t, []string{"new x True 1h0m0s"}, expired(d))
	require.Equal(t, time.Duration(math.MaxInt64), d.Snapshot().Keys[0].Conditions[0].Lasted)
}

// FuzzDurationsSnapshot decodes and restores any input. What is accepted works, and the next snapshot is the same.
func FuzzDurationsSnapshot(f *testing.F) {
	f.Add([]byte(`{"version":1,"keys":[{"key":"a","seen":3,"conditions":[{"type":"Ready","status":"False","lasted":9223372036854775807,"transition":-9223372036854775808,"handedOut":10000000000},{"type":"KernelDeadlock","lasted":4}]},{"key":"b","seen":9223372036854775807}]}`), byte(0))
	f.Add([]byte(`{"version":1,"keys":[{"key":"a","seen":0,"conditions":[{"type":"KernelDeadlock","status":"True","lasted":16000000000},{"type":"Else","status":"True","lasted":4,"handedOut":3}]}]}`), byte(1))
	f.Fuzz(func(t *testing.T, text []byte, rules byte) {
		var s DurationsSnapshot[string]
		if json.Unmarshal(text, &s) != nil {
			return
		}
		watch := func() (*Durations[string], *testingclock.FakePassiveClock) {
			return durations(t, someRules[int(rules)%len(someRules):]...)
		}
		d, clk := watch()
		if d.Restore(s) != nil {
			require.Zero(t, d.Len())
			require.Empty(t, d.Snapshot().Keys)
			return
		}
		require.Equal(t, len(s.Keys), d.Len())
		first := d.Snapshot()
		other, _ := watch()
		require.NoError(t, other.Restore(first))
		require.Equal(t, first, other.Snapshot())
		for n := range 4 {
			clk.SetTime(at(float64(10 * n)))
			told := map[string]int{}
			for key := range d.Expired() {
				told[key]++
				require.LessOrEqual(t, told[key], len(someRules))
			}
			if next, ok := d.Next(); ok {
				require.True(t, next.After(clk.Now()))
			}
			for i, k := range s.Keys {
				d.Observe(k.Key, ready([]v1.ConditionStatus{v1.ConditionFalse, v1.ConditionTrue}[(i+n)%2], float64(n)))
				all, ok := d.Get(k.Key)
				require.True(t, ok)
				for _, l := range all {
					require.GreaterOrEqual(t, l.Left, time.Duration(0))
				}
			}
		}
		text, err := json.Marshal(d.Snapshot())
		require.NoError(t, err)
		var last DurationsSnapshot[string]
		require.NoError(t, json.Unmarshal(text, &last))
		other, _ = watch()
		require.NoError(t, other.Restore(last), "%s", text)
		for _, k := range s.Keys {
			require.True(t, d.Forget(k.Key))
		}
		require.Zero(t, d.Len())
		require.Zero(t, d.due.Len())
	})
}
