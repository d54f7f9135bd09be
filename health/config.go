package health

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// Config configures a Monitor. Start from DefaultConfig; zero is invalid.
type Config struct {
	// NodeMonitorPeriod is the time between passes; with 0, a Pass is due when something changes. It may be longer than the
	// grace periods.
	NodeMonitorPeriod time.Duration
	// NodeMonitorGracePeriod is how long a node that has reported may stay silent.
	NodeMonitorGracePeriod time.Duration
	// NodeStartupGracePeriod is how long a node without a Ready condition may stay silent after its creation or, if it is
	// later, the last Pass before it was first seen; or, if none was, the first.
	NodeStartupGracePeriod time.Duration
	// MaxGap is how much of the time between two calls counts at most; 0 means a quarter of the node's grace period.
	MaxGap time.Duration
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// DefaultConfig has kube-controller-manager's defaults (1.32+): 5s, 50s, 60s.
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
