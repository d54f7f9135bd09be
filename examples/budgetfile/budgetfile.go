// Package budgetfile is the format of the controller's --budget and of a scenario's budget: bounds over the nodes of a
// cluster, for an evictor.
package budgetfile

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// Budget is a budget as it is written.
type Budget struct {
	// Exceeded says what becomes of pending evictions while a bound is exceeded: GoOn, which is also the default, or Wait.
	Exceeded Exceeded `yaml:"exceeded"`
	Bounds   []Bound  `yaml:"bounds"`
}

// Bound is one bound: a budget.Bound that counts states and moves of nodes. A trial cannot be written.
type Bound struct {
	Name   string        `yaml:"name"`
	Per    string        `yaml:"per"` // a label of nodes
	Of     Quantity      `yaml:"of"`
	Max    Limit         `yaml:"max"`
	Min    Limit         `yaml:"min"`
	Within time.Duration `yaml:"within"`
	Quiet  time.Duration `yaml:"quiet"`
}

// Exceeded is Wait (true) or GoOn.
type Exceeded bool

// UnmarshalText reads it.
func (e *Exceeded) UnmarshalText(text []byte) error {
	if *e = string(text) == "Wait"; !*e && string(text) != "GoOn" {
		return fmt.Errorf("%q must be GoOn or Wait", text)
	}
	return nil
}

// Quantity is the name of a budget.Quantity, but no trial.
type Quantity budget.Quantity

// UnmarshalText reads it.
func (q *Quantity) UnmarshalText(text []byte) error {
	for is := budget.Bad; is <= budget.Recent; is++ {
		if is.String() == string(text) {
			*q = Quantity(is)
			return nil
		}
	}
	return fmt.Errorf("%q must be Bad, Unavailable, Healthy, Acting or Recent", text)
}

// Limit is a number, or a percentage that is rounded up, as in a PodDisruptionBudget. "45% or 3" is the larger of both.
type Limit struct {
	budget.Limit `yaml:"-"`
}

// UnmarshalText reads it.
func (l *Limit) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		l.Limit = budget.Count(n)
		return nil
	}
	share, least, both := strings.Cut(string(text), " or ")
	n, faulty := strconv.ParseInt(least, 10, 64)
	percent, err := strconv.ParseFloat(strings.TrimSuffix(share, "%"), 64)
	if err != nil || !strings.HasSuffix(share, "%") || both && faulty != nil {
		return fmt.Errorf("%q must be a number, a percentage such as 20%%, or the larger of both, such as 45%% or 3", text)
	}
	l.Limit = budget.Percent(percent).Up().AtLeast(n)
	return nil
}

// String returns the bounds, such as "racks: Acting at most 2 per rack".
func (b *Budget) String() string {
	var all []string
	for i, is := range b.List() {
		text := cmp.Or(is.Name, fmt.Sprintf("bound %d", i+1)) + ": " + is.Of.String()
		for _, part := range []struct{ before, text string }{
			{"at most", is.Max.String()}, {"at least", is.Min.String()}, {"per", is.Per}, {"within", is.Within.String()}, {"quiet", is.Quiet.String()},
		} {
			if part.text != "" && part.text != "0s" {
				text += " " + part.before + " " + part.text
			}
		}
		all = append(all, text)
	}
	if b.Exceeded {
		all = append(all, "evictions wait while a bound is exceeded")
	}
	return strings.Join(all, "; ")
}

// List returns the bounds.
func (b *Budget) List() (bounds []budget.Bound) {
	for _, is := range b.Bounds {
		bounds = append(bounds, budget.Bound{
			Name: is.Name, Per: is.Per, Of: budget.Quantity(is.Of), Max: is.Max.Limit, Min: is.Min.Limit, Within: is.Within, Quiet: is.Quiet,
		})
	}
	return bounds
}

// New makes the budget, on a clock. An error has all faults of the bounds.
func (b *Budget) New(on clock.PassiveClock) (*budget.Budget[string, guard.Member], error) {
	if len(b.Bounds) == 0 {
		return nil, errors.New("bounds: there are none")
	}
	config := budget.Config[string, guard.Member]{
		Dimensions: make(map[string]func(guard.Member) (string, bool)),
		Counts:     func(m guard.Member) bool { return !m.Excluded },
		Bad:        func(m guard.Member) bool { return !m.Ready },
		Bounds:     b.List(), Clock: on,
	}
	for _, is := range b.Bounds {
		if is.Per != "" {
			config.Dimensions[is.Per] = func(m guard.Member) (string, bool) {
				group, has := m.Labels[is.Per]
				return group, has
			}
		}
	}
	return budget.New(config)
}

// On puts a budget that New made on the evictor's seams.
func (b *Budget) On(made *budget.Budget[string, guard.Member], config nodelifecycle.Config, options evictor.Options) (evictor.Options, error) {
	g, err := guard.New(made, config, guard.Options{Exceeded: func(*budget.Refusal) bool { return bool(b.Exceeded) }})
	if err != nil {
		return options, err
	}
	return g.On(options), nil
}
