package ratelimitqueue

import (
	"math"
	"testing"

	"golang.org/x/time/rate"
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
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a rate that is no number", made(Config{Rate: rate.Limit(math.NaN())}),
			"ratelimitqueue: rate: Invalid value: NaN: must be a number of items a second, from 0, which stops, to rate.Inf"},
		{"an infinite rate for no limit", made(Config{Rate: rate.Limit(math.Inf(1))}),
			"rate: Invalid value: +Inf: must be a number of items a second, from 0, which stops, to rate.Inf"},
		{"a negative rate, which means no limit in client-go", made(Config{Rate: -1}), "rate: Invalid value: -1"},
		{"a negative rate and burst", made(Config{Rate: -1, Burst: -1}),
			"[rate: Invalid value: -1: must be a number of items a second, from 0, which stops, to rate.Inf, burst: Invalid value: -1: must not be negative]"},
		{"a nil pointer as the clock", made(Config{Rate: 1, Clock: noClock}),
			`ratelimitqueue: clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"a rate set to no number", func() error { return queued().SetRate(rate.Limit(math.NaN())) }, "ratelimitqueue: rate: Invalid value: NaN"},
		{"a zero Queue", misuse.Panic(func() { new(Queue[string, int]).Add("k", 1) }),
			"panic: a zero value was used: make it with the function New… of its type"},
		{"a zero Queue, asked when", misuse.Panic(func() { new(Queue[string, int]).Next() }), "panic: a zero value was used"},
		{"a zero Queue, cleared", misuse.Panic(func() { new(Queue[string, int]).Clear() }), "panic: a zero value was used"},

		{"a group with several faults", grouped(groupConfig{Config: Config{Burst: -1}, MaxRate: -2}),
			"[burst: Invalid value: -1: must not be negative, " +
				"maxRate: Invalid value: -2: must be a number of items a second, from 0, which means no limit, to rate.Inf]"},
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
			return g.SetRate("a", rate.Limit(math.Inf(1)))
		}, "ratelimitqueue: rate: Invalid value: +Inf"},
		{"a zero Group", misuse.Panic(func() { new(Group[string, string, int]).Take() }), "panic: a zero value was used"},
	})
}
