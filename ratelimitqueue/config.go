package ratelimitqueue

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// Unlimited is the rate that hands out whatever is due.
const Unlimited float64 = math.MaxFloat64

// Config configures a Queue. The zero Config hands out nothing until SetRate.
type Config struct {
	Rate  float64            // in items a second, or Unlimited; 0 stops, and a negative rate is an error
	Burst int                // how many tokens an idle queue saves up, and how many it starts with; 0 means 1
	Clock clock.PassiveClock // the real clock if nil
}

func (c Config) faults() field.ErrorList {
	errs := rateFaults(c.Rate, field.NewPath("rate"))
	if c.Burst < 0 {
		errs = append(errs, field.Invalid(field.NewPath("burst"), c.Burst, "must not be negative"))
	}
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...)
}

func rateFaults(rate float64, path *field.Path) field.ErrorList {
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 {
		return field.ErrorList{field.Invalid(path, rate, "must be a number of items a second, from 0, which stops, to Unlimited")}
	}
	return nil
}

// joined returns the faults as one error, or nil.
func joined(faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("ratelimitqueue: %w", faults.ToAggregate())
}

func checkRate(rate float64) error { return joined(rateFaults(rate, field.NewPath("rate"))) }
