package ratelimitqueue

import (
	"fmt"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
)

// Config configures a Queue. The zero Config hands out nothing until SetRate.
type Config struct {
	Rate  rate.Limit         // in items a second; 0 stops, rate.Inf hands out whatever is due, below 0 is an error
	Burst int                // how many tokens an idle queue saves up, and how many it starts with; 0 means 1
	Clock clock.PassiveClock // the real clock if nil
}

func (c Config) faults() field.ErrorList {
	errs := rateFaults(c.Rate, field.NewPath("rate"), "stops")
	if c.Burst < 0 {
		errs = append(errs, field.Invalid(field.NewPath("burst"), c.Burst, "must not be negative"))
	}
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...)
}

// rateFaults checks a rate. A rate of 0 does what zero says.
func rateFaults(limit rate.Limit, path *field.Path, zero string) field.ErrorList {
	if !(limit >= 0 && limit <= rate.Inf) {
		return field.ErrorList{field.Invalid(path, float64(limit), "must be a number of items a second, from 0, which "+zero+", to rate.Inf")}
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

func checkRate(limit rate.Limit) error {
	return joined(rateFaults(limit, field.NewPath("rate"), "stops"))
}
