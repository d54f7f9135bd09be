package scenariofile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation"
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

// of returns what the figure is about, "" for the cluster.
func (e *Expectation) of() string {
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

// check returns all faults of an expectation by itself.
func (e *Expectation) check(number int) (errs []error) {
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("expect %d: "+format, append([]any{number}, args...)...))
	}
	given := 0
	for _, name := range []string{e.Zone, e.Workload, e.Budget} {
		if name != "" {
			given++
		}
	}
	switch {
	case given > 1:
		fault("more than one of zone, workload and budget are set")
	case e.Figure == "":
		fault("figure is missing")
	default:
		if names := e.names(); !slices.Contains(names, e.Figure) {
			fault("figure %q is not one of %s", e.Figure, strings.Join(names, ", "))
		}
	}
	if e.AtLeast == nil && e.AtMost == nil {
		fault("neither atLeast nor atMost is set")
	}
	if e.AtLeast != nil && e.AtMost != nil && *e.AtLeast > *e.AtMost {
		fault("atLeast is more than atMost")
	}
	return errs
}

// names returns the figures that there are.
func (e *Expectation) names() (names []string) {
	figures := new(simulation.Report).Figures()
	switch {
	case e.Zone != "":
		figures = new(simulation.ZoneReport).Figures()
	case e.Workload != "":
		figures = new(simulation.WorkloadReport).Figures()
	case e.Budget != "":
		figures = new(simulation.BudgetReport).Figures()
	}
	for _, f := range figures {
		names = append(names, f.Name)
	}
	return names
}

// Breaches returns a text for each expectation that does not hold.
func Breaches(r *simulation.Report, expected []Expectation) (breaches []string) {
	for i := range expected {
		e := &expected[i]
		figures, err := e.figures(r)
		if err != nil {
			breaches = append(breaches, fmt.Sprintf("expect %d: %s", i+1, err))
		}
		for _, f := range figures {
			if breach := e.breach(f); f.Name == e.Figure && breach != "" {
				breaches = append(breaches, fmt.Sprintf("expect %d: %s", i+1, breach))
			}
		}
	}
	return breaches
}

// breach says how a figure violates its bounds, empty if it does not.
func (e *Expectation) breach(f simulation.Figure) string {
	what := f.Name
	if of := e.of(); of != "" {
		what += " of " + of
	}
	switch {
	case e.AtLeast != nil && f.Value < float64(*e.AtLeast):
		return fmt.Sprintf("%s is %s, less than %s", what, rounded(f.Value), rounded(float64(*e.AtLeast)))
	case e.AtMost != nil && f.Value > float64(*e.AtMost):
		return fmt.Sprintf("%s is %s, more than %s", what, rounded(f.Value), rounded(float64(*e.AtMost)))
	}
	return ""
}

func (e *Expectation) figures(r *simulation.Report) ([]simulation.Figure, error) {
	switch {
	case e.Zone != "":
		z, err := r.Zone(e.Zone)
		if err != nil {
			return nil, err
		}
		return z.Figures(), nil
	case e.Workload != "":
		for i := range r.Workloads {
			if r.Workloads[i].String() == e.Workload {
				return r.Workloads[i].Figures(), nil
			}
		}
	case e.Budget != "":
		for i := range r.Budgets {
			if r.Budgets[i].String() == e.Budget {
				return r.Budgets[i].Figures(), nil
			}
		}
	default:
		return r.Figures(), nil
	}
	return nil, fmt.Errorf("%s does not exist", e.of())
}

// rounded formats a number with enough digits to tell it from its bound.
func rounded(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
