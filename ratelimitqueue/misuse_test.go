package ratelimitqueue

import (
	"context"
	"math"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	var noClock *clocktesting.FakeClock
	type groupConfig = GroupConfig[string, string]
	made := func(c Config) func() error {
		return func() error { return misuse.Said(New[string, int](c)) }
	}
	grouped := func(c groupConfig) func() error {
		return func() error { return misuse.Said(NewGroup[string, string, int](c)) }
	}
	queued := func() *Queue[string, int] { return queue(t, Config{Rate: 1}).Queue }
	background, work := context.Background(), func(context.Context, Item[string, int]) {}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a rate that is no number", made(Config{Rate: math.NaN()}),
			"ratelimitqueue: rate: Invalid value: NaN: must be a number of items a second, from 0, which stops, to Unlimited"},
		{"an infinite rate for no limit", made(Config{Rate: math.Inf(1)}), "rate: Invalid value: +Inf: must be a number of items a second, from 0, which stops, to Unlimited"},
		{"a negative rate, which means no limit in client-go", made(Config{Rate: -1}), "rate: Invalid value: -1"},
		{"a negative burst and a backoff that shrinks", made(Config{Rate: 1, Burst: -1, Backoff: Backoff{Factor: 0.5}}),
			"[backoff.factor: Invalid value: 0.5: must be a finite number of at least 1, burst: Invalid value: -1: must not be negative]"},
		{"a nil pointer as the clock", made(Config{Rate: 1, Clock: noClock}),
			`ratelimitqueue: clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"a rate set to no number", func() error { return queued().SetRate(math.NaN()) }, "ratelimitqueue: rate: Invalid value: NaN"},
		{"Run without a function", func() error { return queued().Run(background, nil) },
			"ratelimitqueue: Run needs a function that works on the items, not nil"},
		{"Run without a context", func() error { return queued().Run(nil, work) }, //nolint:staticcheck // it is wrong
			"ratelimitqueue: Run needs a context, not nil"},
		{"Run with a clock that has no timers", func() error { return queued().Run(background, work) },
			"ratelimitqueue: Run needs timers: Config.Clock must be a clock.Clock, which *testing.FakePassiveClock is not"},
		{"Run with a context that has ended", func() error {
			q, err := New[string, int](Config{Rate: 1})
			if err != nil {
				return err
			}
			ended, end := context.WithCancel(background)
			end()
			return q.Run(ended, work)
		}, "context canceled"},
		{"a zero Queue", misuse.Panic(func() { new(Queue[string, int]).Add("k", 1) }),
			"panic: a zero value was used: make it with the function New… of its type"},
		{"a zero Queue, asked for its rate", misuse.Panic(func() { new(Queue[string, int]).Rate() }), "panic: a zero value was used"},
		{"a zero Queue, cleared", misuse.Panic(func() { new(Queue[string, int]).Clear() }), "panic: a zero value was used"},
		{"a zero Queue, run", func() error { return new(Queue[string, int]).Run(background, work) }, "panic: a zero value was used"},

		{"a group with several faults", grouped(groupConfig{Config: Config{Burst: -1}, MaxRate: -2, MaxInFlight: -1}),
			"[burst: Invalid value: -1: must not be negative, " +
				"maxRate: Invalid value: -2: must be a number of items a second, from 0, which stops, to Unlimited, maxInFlight: Invalid value: -1: must not be negative]"},
		{"a domain that is no number", misuse.Panic(func() {
			g, err := NewGroup[float64, string, int](GroupConfig[float64, string]{})
			if err == nil {
				g.Add(math.NaN(), "k", 1)
			}
		}), "panic: ratelimitqueue: the domain NaN does not equal itself, so it could never be forgotten"},
		{"a group's domain at an infinite rate", func() error {
			g, err := NewGroup[string, string, int](groupConfig{Config: Config{Rate: 1}})
			if err != nil {
				return err
			}
			return g.SetRate("a", math.Inf(1))
		}, "ratelimitqueue: rate: Invalid value: +Inf"},
		{"a group that runs without a function", func() error {
			g, err := NewGroup[string, string, int](groupConfig{Config: Config{Rate: 1}})
			if err != nil {
				return err
			}
			return g.Run(background, nil)
		}, "ratelimitqueue: Run needs a function"},
		{"a zero Group", misuse.Panic(func() { new(Group[string, string, int]).Take() }), "panic: a zero value was used"},

		{"a Limiter of a negative burst", func() error { return misuse.Said(NewLimiter(Config{Burst: -1})) }, "ratelimitqueue: burst: Invalid value: -1"},
		{"a Limiter without timers", func() error {
			return misuse.Said(NewLimiter(Config{Clock: clocktesting.NewFakePassiveClock(epoch)}))
		}, "ratelimitqueue: a Limiter needs timers: Config.Clock must be a clock.Clock, which *testing.FakePassiveClock is not"},
		{"a Limiter set to no number", func() error {
			l, err := NewLimiter(Config{Rate: 1})
			if err != nil {
				return err
			}
			return l.SetRate(math.NaN())
		}, "ratelimitqueue: rate: Invalid value: NaN"},
		{"a zero Limiter", misuse.Panic(func() { _ = new(Limiter).Wait(background) }), "panic: a zero value was used"},
		{"a backoff of negative times", made(Config{Rate: 1, Backoff: Backoff{Initial: -time.Second, Max: -1}}),
			`[backoff.initial: Invalid value: "-1s": must not be negative, backoff.max: Invalid value: "-1ns": must not be negative]`},
	})
}
