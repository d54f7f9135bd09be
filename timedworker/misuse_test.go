package timedworker

import (
	"context"
	"math"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	var noClock *testingclock.FakeClock
	background, work := context.Background(), func(context.Context, Work[float64, int]) Result { return Forget() }
	made := func(c Config) func() error {
		return func() error { return misuse.Said(New(work, c)) }
	}
	set := func(f func(context.Context, Work[float64, int]) Result, c Config) *Set[float64, int] {
		s, err := New(f, c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no function", func() error { return misuse.Said(New[string, int](nil, Config{})) },
			"timedworker: function: Required value: it does the work"},
		{"no function, and no worker", func() error { return misuse.Said(New[string, int](nil, Config{Workers: -1})) },
			"timedworker: [workers: Invalid value: -1: must not be negative, function: Required value: it does the work]"},
		{"no worker, and a backoff that shrinks", made(Config{Workers: -1, Backoff: Backoff{Factor: 0.5}}),
			"timedworker: [backoff.factor: Invalid value: 0.5: must be a finite number of at least 1, workers: Invalid value: -1: must not be negative]"},
		{"a backoff of no number and negative times", made(Config{Backoff: Backoff{Initial: -1, Max: -1, Factor: math.NaN()}}),
			`timedworker: [backoff.initial: Invalid value: "-1ns": must not be negative, backoff.max: Invalid value: "-1ns": must not be negative, backoff.factor: Invalid value: NaN`},
		{"a nil pointer as the clock", made(Config{Clock: noClock}),
			`timedworker: clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"Run with a clock that has no timers", func() error { return set(work, Config{Clock: noTimers{}}).Run(background) },
			"timedworker: Run needs timers: Config.Clock must be a clock.Clock, which timedworker.noTimers is not"},
		{"Run without a context", func() error { return set(work, Config{}).Run(nil) }, //nolint:staticcheck // it is wrong
			"timedworker: Run needs a context, not nil"},
		{"Step without a context", func() error { return misuse.Said(set(work, Config{}).Step(nil)) }, //nolint:staticcheck // it is wrong
			"timedworker: Step needs a context, not nil"},
		{"Step with a context that has ended", func() error {
			ended, end := context.WithCancel(background)
			end()
			return misuse.Said(set(work, Config{}).Step(ended))
		}, "context canceled"},
		{"Run from within the work", func() (inner error) {
			var s *Set[float64, int]
			s = set(func(ctx context.Context, _ Work[float64, int]) Result {
				inner = s.Run(ctx)
				return Forget()
			}, Config{Clock: testingclock.NewFakeClock(epoch)})
			s.Schedule(1, 1, epoch)
			if _, err := s.Step(background); err != nil {
				return err
			}
			return inner
		}, "timedworker: another Step or Run of this Set is active: call one at a time"},
		{"a zero Set, stepped", func() error { return misuse.Said(new(Set[string, int]).Step(background)) },
			"timedworker: Step of a zero Set: make one with New"},
		{"a zero Set, run", func() error { return new(Set[string, int]).Run(background) }, "timedworker: Run of a zero Set: make one with New"},
		{"a zero Set, given work", misuse.Panic(func() { new(Set[string, int]).Schedule("k", 1, epoch) }),
			"panic: a zero value was used: make it with the function New… of its type"},
	})
}

// noTimers is a clock that only tells the time.
type noTimers struct{}

func (noTimers) Now() time.Time                  { return epoch }
func (noTimers) Since(t time.Time) time.Duration { return epoch.Sub(t) }
