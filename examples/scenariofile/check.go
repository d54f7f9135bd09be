package scenariofile

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// checker collects the faults that a simulation would not find, or would report under another name.
type checker struct {
	root   *yaml.Node
	faults []fault
}

// add adds a fault of the field to which the path leads.
func (c *checker) add(err error, path ...string) {
	c.faults = append(c.faults, fault{lineOf(c.root, path), fmt.Errorf("%s: %w", place(path), err)})
}

func (c *checker) check(s *Scenario) {
	positive := func(value time.Duration, path ...string) {
		if value <= 0 {
			c.add(fmt.Errorf("%v is not positive", value), path...)
		} else if value < time.Millisecond { // as a simulation says, by another name
			c.add(fmt.Errorf("%v is too short: the shortest is 1ms", value), path...)
		}
	}
	positive(s.Heartbeat.Interval, "heartbeat", "interval")
	positive(s.Heartbeat.StatusInterval, "heartbeat", "statusInterval")
	if spread := s.Heartbeat.Spread; spread != SpreadEven && spread != SpreadNone {
		c.add(fmt.Errorf("%q is neither %s nor %s", spread, SpreadEven, SpreadNone), "heartbeat", "spread")
	}
	if s.Budget != nil {
		if _, err := s.Budget.New(nil); err != nil {
			c.add(cmp.Or(errors.Unwrap(err), err), "budget")
		}
	}
	if s.Maintenance < 0 {
		c.add(fmt.Errorf("%v is negative; 0 ignores announcements", s.Maintenance), "maintenance")
	}
	if s.Reschedule != nil && s.Reschedule.After != nil && *s.Reschedule.After < 0 {
		c.add(fmt.Errorf("%v is negative", *s.Reschedule.After), "reschedule", "after")
	}
	for i := range s.Availability {
		a, number := &s.Availability[i], strconv.Itoa(i+1)
		if a.Zone == "" {
			c.add(errors.New("zone is missing"), "availability", number)
		}
		if a.Scale != nil && *a.Scale <= 0 {
			c.add(fmt.Errorf("%d is not positive", *a.Scale), "availability", number, "scale")
		}
	}
	for i := range s.Expect {
		s.Expect[i].check(func(err error, path ...string) {
			c.add(err, append([]string{"expect", strconv.Itoa(i + 1)}, path...)...)
		})
	}
}
