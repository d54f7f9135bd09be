package health

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// Config configures a Monitor. The zero Config is not valid; start from DefaultConfig.
type Config struct {
	// NodeMonitorPeriod is the time between the passes at which the Monitor notes heartbeats and changes verdicts. With 0,
	// it notes them when they come. It may be longer than the grace periods.
	NodeMonitorPeriod time.Duration
	// NodeMonitorGracePeriod is how long a node that has reported may stay silent.
	NodeMonitorGracePeriod time.Duration
	// NodeStartupGracePeriod is how long a node without a Ready condition may stay silent after its creation. If the
	// last Pass before the node was first seen is later, that counts instead; if none was, the first Pass does.
	NodeStartupGracePeriod time.Duration
	// MaxGap is how much of the time between two calls counts at most; 0 means a quarter of the node's grace period. It is
	// never less than 1.2 periods. See "Silence" in the package comment.
	MaxGap time.Duration
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// DefaultConfig returns kube-controller-manager's defaults since 1.32: 5s, 50s, 60s.
func DefaultConfig() Config {
	return Config{NodeMonitorPeriod: 5 * time.Second, NodeMonitorGracePeriod: 50 * time.Second, NodeStartupGracePeriod: 60 * time.Second}
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs faults
	errs.least(0, "nodeMonitorPeriod", c.NodeMonitorPeriod, "must not be negative; with 0, heartbeats are noted when they come")
	errs.least(1, "nodeMonitorGracePeriod", c.NodeMonitorGracePeriod, "must be greater than 0")
	errs.least(1, "nodeStartupGracePeriod", c.NodeStartupGracePeriod, "must be greater than 0")
	return errs.with(c.MaxGap, c.Clock)
}

// faults are those of a configuration.
type faults field.ErrorList

func (f *faults) least(least time.Duration, name string, d time.Duration, why string) {
	if d < least {
		*f = append(*f, field.Invalid(field.NewPath(name), d.String(), why))
	}
}

// with adds those of what both types have, and returns all.
func (f *faults) with(maxGap time.Duration, clk clock.PassiveClock) error {
	f.least(0, "maxGap", maxGap, "must not be negative; 0 is a quarter of each grace period")
	return append(field.ErrorList(*f), absent.Faults(field.NewPath("clock"), clk)...).ToAggregate()
}

func clockOr(c clock.PassiveClock) clock.PassiveClock {
	if c == nil {
		return clock.RealClock{}
	}
	return c
}
