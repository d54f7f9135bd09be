package drill

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Effect is what a loss costs.
type Effect struct {
	PodHoursLost       float64 `json:"podHoursLost"`
	PodHoursMissing    float64 `json:"podHoursMissing"`
	MostPending        int     `json:"mostPending"`
	BudgetsBroken      int     `json:"budgetsBroken"`
	FailedJobs         int     `json:"failedJobs"`
	WorkloadsBelowHalf int     `json:"workloadsBelowHalf"`
	LostForGood        int     `json:"lostForGood"` // pods
}

func effectOf(r *simulation.Report) Effect {
	return Effect{r.PodHoursLost, r.PodHoursMissing, r.MostPending, r.BudgetsBroken, len(r.FailedJobs), r.WorkloadsBelowHalf, r.LostForGood}
}

// compare is negative if an effect is better than another: by the pod-hours lost, to a tenth, and if these are equal by the others.
func (e *Effect) compare(other *Effect) int {
	tenths := func(hours float64) float64 { return math.Round(10 * hours) }
	return cmp.Or(
		cmp.Compare(tenths(e.PodHoursLost), tenths(other.PodHoursLost)), cmp.Compare(tenths(e.PodHoursMissing), tenths(other.PodHoursMissing)),
		cmp.Compare(e.MostPending, other.MostPending), cmp.Compare(e.BudgetsBroken, other.BudgetsBroken),
		cmp.Compare(e.FailedJobs, other.FailedJobs), cmp.Compare(e.WorkloadsBelowHalf, other.WorkloadsBelowHalf),
		cmp.Compare(e.LostForGood, other.LostForGood),
	)
}

// helps says whether a figure is better than today: a sum of hours at least by what a change is worth.
func (e *Effect) helps(today *Effect) bool {
	return e.PodHoursLost < today.PodHoursLost*(1-worth) || e.PodHoursMissing < today.PodHoursMissing*(1-worth) || e.MostPending < today.MostPending ||
		e.BudgetsBroken < today.BudgetsBroken || e.FailedJobs < today.FailedJobs || e.WorkloadsBelowHalf < today.WorkloadsBelowHalf || e.LostForGood < today.LostForGood
}

// Remedy is what people can change in a cluster, and what the loss costs then.
type Remedy struct {
	Name string   `json:"name"`
	How  []string `json:"how,omitempty"` // lines of YAML, and commands
	But  []string `json:"but,omitempty"` // conditions, costs, and what cannot be changed in objects that exist
	Effect
	// Hasty is how many pods a false alarm of HastyAlarm evicts while they run; -1 unless the remedy makes evictions come earlier.
	Hasty int `json:"evictedWhileRunning"`
	// Tainted means that the lost nodes are tainted out of service, too: compare it with Broken.Tainted.
	Tainted bool `json:"outOfServiceTaint"`

	alters   []alter
	template bool                  // whether it changes the pod template
	more     func(count int) alter // nil unless a number of nodes is sought: the least that does as well as count
	count    int
}

// HastyAlarm is how long the false alarm is that is played with remedies that make evictions come earlier.
const HastyAlarm = 10 * time.Minute

// play plays a loss with a remedy, and if that is hasty its false alarm.
func (m *Remedy) play(ctx context.Context, c *Cluster, loss Loss, tick func()) error {
	if m.more != nil {
		return m.fewest(ctx, c, loss, tick)
	}
	report, err := simulation.Play(ctx, c.scenario(loss, m.alters...))
	if err != nil {
		return err
	}
	tick()
	if m.Effect = effectOf(report); m.Hasty < 0 {
		return nil
	}
	return m.alarm(ctx, c, loss, tick)
}

// alarm plays the false alarm of a hasty remedy.
func (m *Remedy) alarm(ctx context.Context, c *Cluster, loss Loss, tick func()) error {
	loss.For, loss.FalseAlarm = HastyAlarm, true
	report, err := simulation.Play(ctx, c.scenario(loss, m.alters...))
	if err != nil {
		return err
	}
	tick()
	m.Hasty = report.EvictedWhileRunning
	return nil
}

// fewest finds the least count that does as well as its count does.
func (m *Remedy) fewest(ctx context.Context, c *Cluster, loss Loss, tick func()) error {
	with := func(count int) (Remedy, error) {
		tried := Remedy{Hasty: -1, alters: append(slices.Clip(m.alters), m.more(count))}
		return tried, tried.play(ctx, c, loss, tick)
	}
	best, err := with(m.count)
	if err != nil {
		return err
	}
	enough := best.Effect
	low := 0 // is too few
	for high := m.count; high-low > 1; {
		middle := (low + high) / 2
		tried, err := with(middle)
		if err != nil {
			return err
		}
		if tried.MostPending > enough.MostPending || tried.PodHoursLost > enough.PodHoursLost*(1+worth) {
			low = middle
			continue
		}
		high, best, m.count = middle, tried, middle
	}
	m.Effect, m.alters = best.Effect, best.alters
	m.Name = fmt.Sprintf("%d more nodes %s", m.count, m.Name)
	if m.count == 1 {
		m.Name = strings.Replace(m.Name, "nodes", "node", 1)
	}
	return nil
}
