package zone

import (
	"testing"

	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	made := func(policy Policy) func() error {
		return func() error { return misuse.Said(New[string](policy)) }
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"no policy", made(nil), "zone: policy: Required value: DefaultPolicy is kube-controller-manager's"},
		{"a nil pointer as the policy", made((*DisruptionPolicy)(nil)), "zone: policy: Required value"},
		{"a nil function as the policy", made(PolicyFunc(nil)), "zone: policy: Required value"},
		{"a DisruptionPolicy that does not start from DefaultPolicy", made(DisruptionPolicy{EvictionRate: 1}),
			"zone: policy: unhealthyThreshold: Invalid value: 0: must lie in (0,1]"},
		{"several faults at once", made(DisruptionPolicy{EvictionRate: -1, UnhealthyThreshold: 55}),
			"[evictionRate: Invalid value: -1: must be a finite number of at least 0, unhealthyThreshold: Invalid value: 55: must lie in (0,1]]"},
		{"a zero Tracker", misuse.Panic(func() {
			var tracker Tracker[string]
			tracker.Set("n", zoneA, good)
			tracker.Evaluate(epoch)
		}), "panic: zone: the zero Tracker was used: make one with New"},
		{"a zero Tracker, asked when", misuse.Panic(func() { new(Tracker[string]).Next(epoch) }),
			"panic: zone: the zero Tracker was used"},
	})
}
