package health

import (
	"math"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	var noClock *clocktesting.FakeClock
	rules := func(rules ...Rule) func() error {
		return func() error { return misuse.Said(NewDurations[string](DurationsConfig{Rules: rules})) }
	}
	deadlines := func() *Deadlines[float64] {
		d, err := NewDeadlines[float64](DeadlinesConfig{Grace: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	restored := func(keys ...KeySnapshot[float64]) func() error {
		return func() error { return deadlines().Restore(DeadlinesSnapshot[float64]{Version: 1, Keys: keys}) }
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a zero Config", func() error { return misuse.Said(NewMonitor(Config{})) },
			`health: [nodeMonitorGracePeriod: Invalid value: "0s": must be greater than 0, nodeStartupGracePeriod: Invalid value: "0s": must be greater than 0]`},
		{"a negative period", func() error {
			c := DefaultConfig()
			c.NodeMonitorPeriod = -1
			return misuse.Said(NewMonitor(c))
		}, `nodeMonitorPeriod: Invalid value: "-1ns": must not be negative; 0 is exact`},
		{"a nil pointer as the monitor's clock", func() error {
			c := DefaultConfig()
			c.Clock = noClock
			return misuse.Said(NewMonitor(c))
		}, `clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"a zero Monitor", misuse.Panic(func() { new(Monitor).Pass() }),
			"panic: health: a zero value was used: make one with NewMonitor or NewDeadlines"},
		{"a node that is nil, as a tombstone becomes if nobody looks at ok", misuse.Panic(func() {
			m, err := NewMonitor(DefaultConfig())
			if err == nil {
				m.ObserveNode(nil)
			}
		}), "panic: health: ObserveNode was given no node: it is nil"},
		{"conditions of a nil node", misuse.Panic(func() { UnknownConditions(nil, epoch) }),
			"panic: health: UnknownConditions was given no node: it is nil"},

		{"Deadlines without a grace", func() error { return misuse.Said(NewDeadlines[int](DeadlinesConfig{})) },
			`health: grace: Invalid value: "0s": must be greater than 0`},
		{"a nil pointer as the clock of Deadlines", func() error {
			return misuse.Said(NewDeadlines[int](DeadlinesConfig{Grace: 1, Clock: noClock}))
		}, "health: clock: Invalid value"},
		{"zero Deadlines", misuse.Panic(func() { new(Deadlines[int]).Beat(1) }),
			"panic: health: a zero value was used: make one with NewMonitor or NewDeadlines"},
		{"a beat of a key that is no number", misuse.Panic(func() { deadlines().Beat(math.NaN()) }),
			"panic: health: the key NaN does not equal itself, so it could never be forgotten"},
		{"a snapshot that is empty because it was not read", func() error { return deadlines().Restore(DeadlinesSnapshot[float64]{}) },
			"health: cannot restore a snapshot of version 0, only of version 1"},
		{"Restore after the first Beat", func() error {
			d := deadlines()
			d.Beat(1)
			return d.Restore(d.Snapshot())
		}, "health: cannot restore beside the 1 keys that are tracked already: call Restore first"},
		{"a snapshot with a key twice", restored(KeySnapshot[float64]{Key: 1, Grace: 1}, KeySnapshot[float64]{Key: 1, Grace: 1}),
			"health: cannot restore key 1: it is there twice"},
		{"a snapshot without a grace", restored(KeySnapshot[float64]{Key: 1}),
			"health: cannot restore key 1: grace 0s must be greater than 0"},
		{"a snapshot with a silence below 0", restored(KeySnapshot[float64]{Key: 1, Grace: 1, Silent: -1}),
			"health: cannot restore key 1: silent -1ns must not be negative"},
		{"a snapshot with a key that is no number", restored(KeySnapshot[float64]{Key: math.NaN(), Grace: 1}),
			"health: cannot restore key NaN: it does not equal itself"},

		{"no rule", rules(), "health: rules: Required value: without a rule nothing is watched"},
		{"a rule without a type", rules(Rule{Status: v1.ConditionTrue, For: 1}), "health: rules[0].type: Required value"},
		{"a status in lower case", rules(Rule{"Ready", v1.ConditionTrue, 1}, Rule{"Ready", "true", 1}),
			`health: rules[1].status: Unsupported value: "true": supported values: "`},
		{"a rule for no time", rules(Rule{"Ready", v1.ConditionFalse, 0}),
			`health: rules[0].for: Invalid value: "0s": must be greater than 0; a nanosecond is at once`},
		{"a rule twice", rules(Rule{"Ready", v1.ConditionFalse, 1}, Rule{"Ready", v1.ConditionFalse, 1}), `health: rules[1]: Duplicate value: "Ready"`},
		{"a zero Rule, with all its faults", rules(Rule{}), `health: [rules[0].type: Required value, rules[0].status: Unsupported value: "": supported values: "`},
		{"zero Durations", misuse.Panic(func() { new(Durations[int]).Observe(1, nil) }),
			"panic: a zero value was used: make it with the function New… of its type"},
		{"a nil pointer as the clock of Durations", func() error {
			return misuse.Said(NewDurations[int](DurationsConfig{Rules: []Rule{{"Ready", v1.ConditionFalse, 1}}, Clock: noClock}))
		}, "health: clock: Invalid value"},
		{"an observation of a key that is no number", misuse.Panic(func() {
			d, err := NewDurations[float64](DurationsConfig{Rules: []Rule{{"Ready", v1.ConditionFalse, 1}}})
			if err == nil {
				d.Observe(math.NaN(), nil)
			}
		}), "panic: health: the key NaN does not equal itself, so it could never be forgotten"},
	})
}
