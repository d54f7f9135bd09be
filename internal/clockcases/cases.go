package clockcases

import (
	"fmt"
	"time"
)

// Case is a clock, and by how much its wall clock is set.
type Case struct {
	Monotonic bool
	Set       time.Duration
}

// Cases are clocks set forward and back by an hour and by a day, with and without monotonic readings.
func Cases() (all []Case) {
	for _, monotonic := range []bool{true, false} {
		for _, set := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour} {
			all = append(all, Case{monotonic, set})
		}
	}
	return all
}

// Clock returns the clock of the case, before it is set.
func (c Case) Clock() *Clock { return New(c.Monotonic) }

// Counts is how much time has passed, by the rule of package steady, once the clock is set. It is 0, except that going
// forward counts as time if readings have no monotonic part.
func (c Case) Counts() time.Duration {
	if c.Monotonic {
		return 0
	}
	return max(c.Set, 0)
}

// String names the case.
func (c Case) String() string {
	with := "without"
	if c.Monotonic {
		with = "with"
	}
	return fmt.Sprintf("%+.0fh %s monotonic readings", c.Set.Hours(), with)
}
