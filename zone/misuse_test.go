package zone

import (
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	made := func(config Config[string]) error { return misuse.Said(New[string](config)) }
	evaluated := func(policyOf func(string) Policy) func() error {
		return func() error {
			tracker, err := New[string](Config[string]{Policy: DefaultPolicy(), PolicyOf: policyOf})
			if err == nil {
				tracker.Set("n", "pool", bad)
				tracker.Evaluate()
			}
			return err
		}
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no policy", func() error { return misuse.Said(NewTracker[string](nil)) },
			"zone: policy: Required value: DefaultPolicy is kube-controller-manager's"},
		{"a zero config", func() error { return made(Config[string]{}) }, "zone: policy: Required value"},
		{"a nil pointer as the policy", func() error { return misuse.Said(NewTracker[string]((*DisruptionPolicy)(nil))) },
			"zone: policy: Required value"},
		{"a nil function as the policy", func() error { return made(Config[string]{Policy: PolicyFunc(nil)}) },
			"zone: policy: Required value"},
		{"a nil pointer as the clock", func() error {
			var clock *clocktesting.FakeClock
			return made(Config[string]{Policy: DefaultPolicy(), Clock: clock})
		}, `zone: clock: Invalid value: "*testing.FakeClock(nil)": must not be nil within an interface; leave it out`},
		{"a DisruptionPolicy that does not start from DefaultPolicy", func() error {
			return misuse.Said(NewTracker[string](DisruptionPolicy{EvictionRate: 1}))
		}, "zone: policy: unhealthyThreshold: Invalid value: 0: must lie in (0,1]"},
		{"several faults at once", func() error {
			return misuse.Said(NewTracker[string](DisruptionPolicy{EvictionRate: -1, UnhealthyThreshold: 55}))
		}, "[evictionRate: Invalid value: -1: must be a finite number of at least 0, unhealthyThreshold: Invalid value: 55: must lie in (0,1]]"},
		{"a policy of one domain that does not start from DefaultPolicy",
			evaluated(func(string) Policy { return DisruptionPolicy{EvictionRate: 1} }),
			"panic: zone: PolicyOf(pool): unhealthyThreshold: Invalid value: 0"},
		{"a zero Tracker", misuse.Panic(func() { new(Tracker[string, Key]).Evaluate() }),
			"panic: zone: the zero Tracker was used: make one with NewTracker or New"},
		{"a zero Tracker, with a reading of the clock", misuse.Panic(func() {
			var tracker Tracker[string, Key]
			tracker.Set("n", zoneA, good)
			tracker.EvaluateAt(epoch)
		}),
			"panic: zone: the zero Tracker was used"},
		{"a zero Tracker, asked when", misuse.Panic(func() { new(Tracker[string, Key]).Next() }),
			"panic: zone: the zero Tracker was used"},
		{"a State that was never set", func() error { return misuse.Said(State(0).MarshalText()) },
			"zone: State(0) is not a state"},
		{"an empty State", func() error { return new(State).UnmarshalText(nil) },
			`zone: unknown state "", want one of [Initial Normal PartialDisruption FullDisruption]`},
	})
}

// TestAPolicyThatIsNotThere, as a map of pointers returns for a domain that it does not know, leaves the domain to Policy.
func TestAPolicyThatIsNotThere(t *testing.T) {
	pools := map[string]*DisruptionPolicy{}
	tracker, err := New[string](Config[string]{Policy: DefaultPolicy(), PolicyOf: func(pool string) Policy { return pools[pool] }})
	if err != nil {
		t.Fatal(err)
	}
	tracker.Set("n", "pool", good)
	if changes := tracker.Evaluate(); len(changes) != 1 || changes[0].Rate != 0.1 {
		t.Fatal(changes)
	}
}
