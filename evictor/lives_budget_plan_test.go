package evictor_test

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/zone"
)

// livesBudget is Options.Budget and Options.Exceeded.
type livesBudget struct {
	Bounds   []budget.Bound
	Exceeded []zone.Pending // what each bound says while it is exceeded, nil without Options.Exceeded
}

func newLivesBudget(random *rand.Rand) (b livesBudget) {
	n := func(from, to int) int { return from + random.Intn(to-from+1) }
	for i := range n(0, 1) * n(1, 3) {
		is := budget.Bound{Name: fmt.Sprint("bound ", i), Per: []string{"", "zone", "rack"}[n(0, 2)], Of: budget.Quantity(n(1, 6))}
		limit := []budget.Limit{budget.Count(int64(n(1, 4))), budget.Percent(float64(n(20, 60))), budget.Percent(float64(n(10, 50))).Up()}[n(0, 2)]
		switch quiet := time.Duration(n(-200, 200)) * time.Second; {
		case is.Of == budget.Healthy:
			is.Min, is.Quiet = limit, max(quiet, 0)
		case is.Of == budget.Bad && n(0, 1) == 0:
			is.Min, is.Max = budget.Count(int64(n(1, 2))), budget.Count(int64(n(2, 6)))
		case is.Of == budget.Recent:
			is.Max, is.Within = limit, time.Duration(n(30, 400))*time.Second
		case is.Of == budget.Unproven:
			is.Max, is.Within, is.Quiet, is.Unjudged = limit, time.Duration(n(30, 400))*time.Second, time.Duration(n(60, 600))*time.Second, budget.Outcome(n(1, 3))
			if is.Cooldown = 4 * max(quiet, 0); quiet > 0 {
				is.MaxCooldown = 8 * quiet
			}
		case is.Of != budget.Acting && quiet > 0:
			is.Max, is.Quiet = limit, quiet
		default:
			is.Max = limit
		}
		b.Bounds = append(b.Bounds, is)
	}
	for range b.Bounds[:len(b.Bounds)*n(0, 2)/2] {
		b.Exceeded = append(b.Exceeded, zone.Pending(n(0, 2)))
	}
	return b
}

// into has an evictor ask a budget of its own.
func (b livesBudget) into(options *evictor.Options) {
	if b.Bounds == nil {
		return
	}
	options.Budget, _ = budget.New(budget.Config[string, evictor.Member]{
		Dimensions: map[string]func(evictor.Member) (string, bool){
			"zone": func(m evictor.Member) (string, bool) { return m.Domain.Zone, true },
			"rack": func(m evictor.Member) (string, bool) { return m.Labels[livesRack], m.Labels[livesRack] != "z0" },
		},
		Counts: func(m evictor.Member) bool { return !m.Excluded }, Bad: func(m evictor.Member) bool { return !m.Ready },
		Bounds: b.Bounds, Clock: options.Clock,
	})
	if b.Exceeded != nil {
		options.Exceeded = func(by *budget.Refusal) zone.Pending {
			return b.pending(slices.IndexFunc(b.Bounds, func(is budget.Bound) bool { return is.Name == by.Bound }))
		}
	}
}

func (b livesBudget) pending(bound int) zone.Pending {
	return append(slices.Clone(b.Exceeded), zone.GoOn, zone.GoOn, zone.GoOn)[bound]
}
