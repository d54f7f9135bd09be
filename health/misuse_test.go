package health

import (
	"math"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	var noClock *clocktesting.FakeClock
	deadlines := func() *Deadlines[float64] {
		d, err := NewDeadlines[float64](DeadlinesConfig{Grace: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	restored := func(keys ...Status[float64]) func() error {
		return func() error { return deadlines().Restore(keys) }
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
		}, `nodeMonitorPeriod: Invalid value: "-1ns": must not be negative; with 0, heartbeats are noted when they come`},
		{"a negative MaxGap", func() error { return misuse.Said(NewDeadlines[int](DeadlinesConfig{Grace: 1, MaxGap: -1})) },
			`health: maxGap: Invalid value: "-1ns": must not be negative; 0 is a quarter of each grace period`},
		{"a nil pointer as the monitor's clock", func() error {
			c := DefaultConfig()
			c.Clock = noClock
			return misuse.Said(NewMonitor(c))
		}, `clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"a zero Monitor", misuse.Panic(func() { new(Monitor).Pass() }),
			"panic: a zero value was used: make it with the function New… of its type"},
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
			"panic: a zero value was used: make it with the function New… of its type"},
		{"a beat of a key that is no number", misuse.Panic(func() { deadlines().Beat(math.NaN()) }),
			"panic: health: the key NaN does not equal itself, so it could never be forgotten"},
		{"Restore after the first Beat", func() error {
			d := deadlines()
			d.Beat(1)
			return d.Restore(d.Snapshot())
		}, "health: cannot restore beside the 1 keys that are tracked already: call Restore first"},
		{"a snapshot with a key twice", restored(Status[float64]{Key: 1, Grace: 1}, Status[float64]{Key: 1, Grace: 1}),
			"health: cannot restore key 1: it is there twice"},
		{"a snapshot without a grace", restored(Status[float64]{Key: 1}),
			"health: cannot restore key 1: grace 0s must be greater than 0"},
		{"a snapshot with a silence below 0", restored(Status[float64]{Key: 1, Grace: 1, Silent: -1}),
			"health: cannot restore key 1: silent -1ns must not be negative"},
		{"a snapshot with a key that is no number", restored(Status[float64]{Key: math.NaN(), Grace: 1}),
			"health: cannot restore key NaN: it does not equal itself"},
	})
}
