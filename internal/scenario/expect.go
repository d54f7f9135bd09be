package scenario

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Expectation sets bounds for a figure of the result: of the cluster, or of one zone, workload or budget. AtLeast and
// AtMost are both inclusive.
type Expectation struct {
	Figure   string  `yaml:"figure"`
	Zone     string  `yaml:"zone"`     // as in events: the zone's name, or region:zone
	Workload string  `yaml:"workload"` // namespace/kind/name
	Budget   string  `yaml:"budget"`   // namespace/name
	AtLeast  *Amount `yaml:"atLeast"`
	AtMost   *Amount `yaml:"atMost"`
}

// Of returns what the figure is about, "" for the cluster.
func (e *Expectation) Of() string {
	switch {
	case e.Zone != "":
		return "zone " + e.Zone
	case e.Workload != "":
		return "workload " + e.Workload
	case e.Budget != "":
		return "budget " + e.Budget
	}
	return ""
}

// Amount is a number, or a duration in seconds. In text it is either, such as 12, 0.5 or 1h30m.
type Amount float64

// UnmarshalText reads a finite number or a duration.
func (a *Amount) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		*a = Amount(n)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a number nor a duration", text)
	}
	*a = Amount(d.Seconds())
	return nil
}

// MarshalText returns the number.
func (a Amount) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(a), 'f', -1, 64), nil
}

// check reports the faults of an expectation by itself. Whoever knows the figures checks their names.
func (e *Expectation) check(f *faults, number int) {
	place := fmt.Sprintf("expect %d", number)
	given := 0
	for _, name := range []string{e.Zone, e.Workload, e.Budget} {
		if name != "" {
			given++
		}
	}
	switch {
	case given > 1:
		f.add("%s: more than one of zone, workload and budget are set", place)
	case e.Figure == "":
		f.add("%s: figure is missing", place)
	}
	if e.AtLeast == nil && e.AtMost == nil {
		f.add("%s: neither atLeast nor atMost is set", place)
	}
	if e.AtLeast != nil && e.AtMost != nil && *e.AtLeast > *e.AtMost {
		f.add("%s: atLeast is more than atMost", place)
	}
}
