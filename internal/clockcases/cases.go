package clockcases

import (
	"fmt"
	"time"
)

// Case is a clock, and by how much somebody sets its wall.
type Case struct {
	Monotonic bool
	Set       time.Duration
}

// Cases are the wall set forward and back by an hour and by a day, with monotonic readings and without.
func Cases() (all []Case) {
	for _, monotonic := range []bool{true, false} {
		for _, set := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour} {
			all = append(all, Case{monotonic, set})
		}
	}
	return all
}

// Clock returns the clock of the case, not yet set.
func (c Case) Clock() *Clock { return New(c.Monotonic) }

// Counts is how much time passes by the rule of package steady when the wall is set: none, but that forward is time
// where no monotonic reading tells better.
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
