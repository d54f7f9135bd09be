package nodepressure

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// Config configures a Machine. Start from DefaultConfig or from a kubelet's Settings. The zero Config is valid and
// watches nothing.
type Config struct {
	// Thresholds say what the node can be short of, and when it is. Their order matters only among the hard thresholds of
	// one signal and among its soft ones: the machine acts on the first that is due. It derives the thresholds of the
	// container file system; see DeriveContainerFs.
	Thresholds []Threshold
	// PressureTransitionPeriod is how long a node condition outlasts the shortage that set it, so that the condition does
	// not flap. With 0 it ends with the shortage.
	PressureTransitionPeriod time.Duration
	// MaxPodGracePeriodSeconds caps the pod's own grace period in a soft eviction. Negative means no cap.
	MaxPodGracePeriodSeconds int64
	// Layout says which file systems the node has.
	Layout Layout
	// LocalStorageLimits evicts pods that use more local storage than their limits or those of their containers and
	// volumes allow, whether or not the node is short of it.
	LocalStorageLimits bool
	// Ranking orders the pods for eviction; nil is ByUsage.
	Ranking Ranking
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// DefaultConfig returns the configuration of a kubelet without settings, on Linux with one file system. For Windows see
// Settings.OperatingSystem.
func DefaultConfig() Config {
	thresholds, errs := Settings{}.thresholds()
	if len(errs) > 0 {
		panic(errs.ToAggregate()) //nolint:forbidigo // our own constants do not parse
	}
	return Config{Thresholds: thresholds, PressureTransitionPeriod: 5 * time.Minute, LocalStorageLimits: true}
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs field.ErrorList
	for i, t := range c.Thresholds {
		path := field.NewPath("thresholds").Index(i)
		if !t.Signal.Valid() {
			errs = append(errs, field.NotSupported(path.Child("signal"), t.Signal, settable()))
		} else if t.Signal.containerFs() {
			errs = append(errs, field.Forbidden(path.Child("signal"), string(t.Signal)+" "+errDerived.Error()))
		}
		value := func(name string, v Value) {
			if !(v.Percentage >= 0 && v.Percentage <= 1) || v.Quantity.Sign() < 0 {
				errs = append(errs, field.Invalid(path.Child(name), v.String(), "must be a quantity of at least 0 or a percentage between 0% and 100%"))
			} else if v.Percentage != 0 && !v.Quantity.IsZero() {
				errs = append(errs, field.Invalid(path.Child(name), v.String(), "must be a quantity or a percentage, not both"))
			}
		}
		value("value", t.Value)
		value("minReclaim", t.MinReclaim)
		if !math.IsNaN(float64(t.Value.Percentage)) && t.Value.IsZero() {
			errs = append(errs, field.Required(path.Child("value"), "a threshold of 0 is never met"))
		}
		if err := t.unreachable(); err != nil {
			errs = append(errs, field.Invalid(path.Child("minReclaim"), t.MinReclaim.String(), err.Error()))
		}
		if t.GracePeriod < 0 {
			errs = append(errs, field.Invalid(path.Child("gracePeriod"), t.GracePeriod.String(), "must not be negative"))
		}
	}
	if c.PressureTransitionPeriod < 0 {
		errs = append(errs, field.Invalid(field.NewPath("pressureTransitionPeriod"), c.PressureTransitionPeriod.String(), "must not be negative"))
	}
	if int(c.Layout) >= len(layoutNames) {
		errs = append(errs, field.Invalid(field.NewPath("layout"), c.Layout.String(), "there is no such layout"))
	}
	errs = append(errs, absent.Faults(field.NewPath("ranking"), c.Ranking)...)
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...).ToAggregate()
}
