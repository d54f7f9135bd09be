package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evictkit/evictkit/internal/scenario"
)

// Figure is one number of a report. Durations are in seconds.
type Figure struct {
	Name  string
	Value float64
}

// Figures returns those of the cluster, in the order of scenario.ClusterFigures. If nothing was evicted, the times of
// evictions are 0.
func (r *Report) Figures() []Figure {
	belowHalf, longest, share := 0, time.Duration(0), 1.0
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.BelowHalf > 0 {
			belowHalf++
		}
		longest, share = max(longest, w.BelowHalf), min(share, w.Share())
	}
	broken, longestBroken := 0, time.Duration(0)
	for i := range r.Budgets {
		b := &r.Budgets[i]
		if b.BelowNeeded > 0 {
			broken++
		}
		longestBroken = max(longestBroken, b.BelowNeeded)
	}
	return named(scenario.ClusterFigures,
		r.Nodes, r.Pods, r.NodeFailures, r.Unknown, r.TaintedNodes, r.Tainted, r.MarkedPods, r.MostEndpoints,
		r.Evicted, r.EvictedFromLive, r.EvictedRunning, r.RemovedRunning, r.Drained, r.First, r.Last,
		r.Delays.Median, r.Delays.P99, r.Delays.Worst,
		r.Needless, r.Lost, r.Rescheduled, r.Pending, r.MostPending,
		r.Terminating, r.MostTerminating, r.Stranded.Hours(),
		belowHalf, longest, r.AnyBelowHalf, share, broken, longestBroken,
	)
}

// Figures returns those of the zone, in the order of scenario.ZoneFigures.
func (z *Zone) Figures() []Figure {
	waited := time.Duration(0)
	for i := range z.Limits {
		waited += z.Limits[i].Waited
	}
	return named(scenario.ZoneFigures, z.Desired, z.Pods, z.Lowest, z.Failures, z.Unknown, z.Tainted, z.Evicted, z.First, z.Last, waited)
}

// Figures returns those of the workload, in the order of scenario.WorkloadFigures.
func (w *Workload) Figures() []Figure {
	return named(scenario.WorkloadFigures, w.Desired, w.Lowest, w.Share(), w.Below, w.BelowHalf, w.BelowBudget, w.Lacking.Hours(), w.AtEnd)
}

// Figures returns those of the budget, in the order of scenario.BudgetFigures.
func (b *Budget) Figures() []Figure {
	return named(scenario.BudgetFigures, b.Desired, b.Needed, b.Lowest, b.BelowNeeded, b.MostBelow)
}

// Share returns the lowest as a share of the desired, 1 if none is desired.
func (l *Level) Share() float64 {
	if l.Desired == 0 {
		return 1
	}
	return float64(l.Lowest) / float64(l.Desired)
}

// String returns namespace/kind/name.
func (w *Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// String returns namespace/name.
func (b *Budget) String() string { return b.Namespace + "/" + b.Name }

// named pairs names with ints, durations and floats.
func named(names []string, values ...any) []Figure {
	figures := make([]Figure, len(values))
	for i, value := range values {
		figures[i].Name = names[i]
		switch v := value.(type) {
		case int:
			figures[i].Value = float64(v)
		case time.Duration:
			figures[i].Value = v.Seconds()
		case float64:
			figures[i].Value = v
		}
	}
	return figures
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
