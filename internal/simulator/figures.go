package simulator

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evictkit/evictkit/internal/scenario"
)

// Figure is one number of a report. Its name is the tag of its field; durations are in seconds.
type Figure struct {
	Name  string
	Value float64
}

// Figures returns those of the cluster, in the order of the fields.
func (r *Report) Figures() []Figure { return figuresOf(reflect.ValueOf(*r)) }

// Figures returns those of the zone.
func (z *Zone) Figures() []Figure { return figuresOf(reflect.ValueOf(*z)) }

// Figures returns those of the workload.
func (w *Workload) Figures() []Figure { return figuresOf(reflect.ValueOf(*w)) }

// Figures returns those of the budget.
func (b *Budget) Figures() []Figure { return figuresOf(reflect.ValueOf(*b)) }

// String returns namespace/kind/name.
func (w *Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// String returns namespace/name.
func (b *Budget) String() string { return b.Namespace + "/" + b.Name }

func figuresOf(of reflect.Value) (figures []Figure) {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if field.Anonymous {
			figures = append(figures, figuresOf(of.Field(i))...)
			continue
		}
		name, ok := field.Tag.Lookup("figure")
		if !ok {
			continue
		}
		f := Figure{Name: name}
		switch value := of.Field(i).Interface().(type) {
		case int:
			f.Value = float64(value)
		case time.Duration:
			f.Value = value.Seconds()
		case float64:
			f.Value = value
		}
		figures = append(figures, f)
	}
	return figures
}

// CheckExpectations returns all faults of expectations by themselves.
func CheckExpectations(expected []scenario.Expectation) (errs []error) {
	for i := range expected {
		e := &expected[i]
		figures := new(Report).Figures()
		switch {
		case e.Zone != "":
			figures = new(Zone).Figures()
		case e.Workload != "":
			figures = new(Workload).Figures()
		case e.Budget != "":
			figures = new(Budget).Figures()
		}
		names := make([]string, len(figures))
		for k := range figures {
			names[k] = figures[k].Name
		}
		if e.Figure != "" && !slices.Contains(names, e.Figure) {
			errs = append(errs, fmt.Errorf("expect %d: figure %q is not one of %s", i+1, e.Figure, strings.Join(names, ", ")))
		}
	}
	return errs
}

// Breaches returns which expectations do not hold, and how.
func (r *Report) Breaches(expected []scenario.Expectation) (breaches []string) {
	for i := range expected {
		e := &expected[i]
		figures, err := r.figuresOf(e)
		if err != nil {
			breaches = append(breaches, fmt.Sprintf("expect %d: %s", i+1, err))
		}
		for _, f := range figures {
			if breach := f.breach(e); f.Name == e.Figure && breach != "" {
				breaches = append(breaches, fmt.Sprintf("expect %d: %s", i+1, breach))
			}
		}
	}
	return breaches
}

// breach says how a figure violates its bounds, empty if it does not.
func (f *Figure) breach(e *scenario.Expectation) string {
	what := f.Name
	if of := e.Of(); of != "" {
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

func (r *Report) figuresOf(e *scenario.Expectation) ([]Figure, error) {
	switch {
	case e.Zone != "":
		keys := make([]scenario.ZoneKey, len(r.ByZone))
		for i := range r.ByZone {
			keys[i].Region, keys[i].Zone, _ = strings.Cut(r.ByZone[i].Name, ":")
		}
		key, err := scenario.ResolveZone(e.Zone, keys)
		if err != nil {
			return nil, err
		}
		return r.ByZone[slices.Index(keys, key)].Figures(), nil
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
	return nil, fmt.Errorf("%s does not exist", e.Of())
}

// rounded formats a number with enough digits to tell it from its bound.
func rounded(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
