package nodepressure

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// ManagerConfig configures a Manager. Start from DefaultManagerConfig.
type ManagerConfig struct {
	// MonitoringPeriod is the time between passes in which nobody is evicted.
	MonitoringPeriod time.Duration
	// CleanupTimeout is how long a pass waits, after its pods were killed, for what they used;
	// CleanupPoll is how often it looks.
	CleanupTimeout, CleanupPoll time.Duration
	// Clock is the real clock when nil. Only elapsed time counts: setting the wall clock changes nothing.
	Clock clock.Clock
	// OnDecision, if set, is given every decision, also those that are not acted on because an eviction is
	// in progress. OnError is given what failed, a *KillError where that was a Kill. Both are called from
	// Run or Step and must not block. A panic of OnDecision is an error, one of OnError is passed over.
	OnDecision func(Decision)
	OnError    func(error)
}

// DefaultManagerConfig returns the kubelet's constants: 10s, 30s, 1s.
func DefaultManagerConfig() ManagerConfig {
	return ManagerConfig{MonitoringPeriod: 10 * time.Second, CleanupTimeout: 30 * time.Second, CleanupPoll: time.Second}
}

// Validate reports every fault at once.
func (c ManagerConfig) Validate() error {
	var errs field.ErrorList
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			errs = append(errs, field.Invalid(field.NewPath(name), d.String(), "must be greater than 0"))
		}
	}
	positive("monitoringPeriod", c.MonitoringPeriod)
	positive("cleanupTimeout", c.CleanupTimeout)
	positive("cleanupPoll", c.CleanupPoll)
	return errs.ToAggregate()
}

// ErrRunning is returned by Run and Step beside another Run or Step of the same Manager.
var ErrRunning = errors.New("nodepressure: already running")

// ErrKillTimeout is in the KillError of a Kill that was given up because it had not returned in time. The
// kubelet records it as an event about the pod, a Warning with the reason ExceededGracePeriod.
var ErrKillTimeout = errors.New("not dead in time")

// KillError is a Kill that failed or was given up. A Kill that was given up and fails later is reported twice.
type KillError struct {
	Eviction Eviction
	// Err is what Kill returned, or wraps ErrKillTimeout.
	Err error
}

// Error names the pod.
func (e *KillError) Error() string {
	return fmt.Sprintf("nodepressure: killing pod %s/%s: %s", e.Eviction.Pod.Namespace, e.Eviction.Pod.Name, e.Err)
}

// Unwrap returns Err.
func (e *KillError) Unwrap() error { return e.Err }
