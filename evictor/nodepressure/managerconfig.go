package nodepressure

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// ManagerConfig configures a Manager. Start from DefaultManagerConfig.
type ManagerConfig struct {
	// MonitoringPeriod is the time between two passes that evict nothing.
	MonitoringPeriod time.Duration
	// CleanupTimeout is how long the Manager waits for a killed pod to give back what it used. CleanupPoll is how often it
	// asks.
	CleanupTimeout, CleanupPoll time.Duration
	// Clock is the real clock if nil, and must be that of the Machine. What counts is elapsed time; see the package comment.
	Clock clock.Clock
	// OnDecision, if set, gets every decision, even one that the Manager does not act on because an eviction is in
	// progress. OnError, if set, gets every error; that of a Kill is a *KillError. A threshold without a sample is an error
	// once, until it has a sample again. Run or Step calls both, and they must
	// not block. OnError also gets a panic in OnDecision; a panic in OnError is ignored.
	OnDecision func(Decision)
	OnError    func(error)
}

// DefaultManagerConfig returns the kubelet's constants: 10s, 30s, 1s.
func DefaultManagerConfig() ManagerConfig {
	return ManagerConfig{MonitoringPeriod: 10 * time.Second, CleanupTimeout: 30 * time.Second, CleanupPoll: time.Second}
}

// Validate reports every fault at once.
func (c ManagerConfig) Validate() error { return c.faults().ToAggregate() }

func (c ManagerConfig) faults() field.ErrorList {
	var errs field.ErrorList
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			errs = append(errs, field.Invalid(field.NewPath(name), d.String(), "must be greater than 0"))
		}
	}
	positive("monitoringPeriod", c.MonitoringPeriod)
	positive("cleanupTimeout", c.CleanupTimeout)
	positive("cleanupPoll", c.CleanupPoll)
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...)
}

// ErrRunning is the error of Run and Step while another Run or Step of the same Manager is active.
var ErrRunning = errors.New("nodepressure: another Run or Step of this Manager is active: call one at a time")

// ErrKillTimeout is what the KillError wraps of a Kill that did not return in time, so that the Manager gave it up. The
// kubelet records this as an event about the pod, a Warning with the reason ExceededGracePeriod.
var ErrKillTimeout = errors.New("not dead in time")

// KillError reports a Kill that failed, or that the Manager gave up. The Manager reports a Kill twice that it gave up
// and that fails later.
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
