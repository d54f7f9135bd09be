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
	// NodeStartupGracePeriod is how long a node without a Ready condition may stay silent after its creation or, if it
	// existed before the first Pass, after that Pass.
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
	var errs field.ErrorList
	bad := func(name string, d time.Duration, why string) {
		errs = append(errs, field.Invalid(field.NewPath(name), d.String(), why))
	}
	if c.NodeMonitorPeriod < 0 {
		bad("nodeMonitorPeriod", c.NodeMonitorPeriod, "must not be negative; with 0, heartbeats are noted when they come")
	}
	if c.NodeMonitorGracePeriod <= 0 {
		bad("nodeMonitorGracePeriod", c.NodeMonitorGracePeriod, "must be greater than 0")
	}
	if c.NodeStartupGracePeriod <= 0 {
		bad("nodeStartupGracePeriod", c.NodeStartupGracePeriod, "must be greater than 0")
	}
	errs = append(errs, gapFaults(c.MaxGap)...)
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...).ToAggregate()
}
