package drill

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// Score is what settings cost over the losses and the false alarms of a search.
type Score struct {
	Settings
	PodHoursLost    float64 // over the losses
	PodHoursMissing float64 // over the losses
	MostPending     int     // in the loss with the most
	// BeforeEviction are the pod-hours on lost nodes until the pods are evicted. It is what settings decide. Settings are not
	// compared by PodHoursLost, because what keeps a pod from coming back would make it seem harmless to evict it late.
	BeforeEviction float64
	// EvictedWhileRunning is the expected number of evictions in the false alarms, if each lasts from one to thirty minutes and
	// every doubling of its length is equally likely: settings that wait a little longer are a little better, not perfect.
	EvictedWhileRunning float64
}

// worth is the least share by which a figure must fall for a change of settings to be worth it.
const worth = 0.01

// beats says whether a score is better than another in one figure, at least by what a change is worth, and not worse in the other,
// or in the pod-hours lost.
func (s *Score) beats(other *Score) bool {
	notWorse := s.BeforeEviction <= other.BeforeEviction && s.EvictedWhileRunning <= other.EvictedWhileRunning && s.PodHoursLost <= other.PodHoursLost*(1+worth)
	return notWorse && (s.BeforeEviction < other.BeforeEviction*(1-worth) || s.EvictedWhileRunning < other.EvictedWhileRunning*(1-worth))
}

// cost is the sum of both figures, each as a share of today's.
func (s *Score) cost(today *Score) float64 {
	return s.BeforeEviction/max(today.BeforeEviction, 0.01) + s.EvictedWhileRunning/max(today.EvictedWhileRunning, 0.01)
}

// Advice is what a search of settings found.
type Advice struct {
	Today Score
	Best  Score // Today if no other beats it
	// Front are the settings than which none is better in one figure and not worse in the other, by BeforeEviction.
	Front  []Score
	Played int // settings
}

// Search plays settings over losses: first a grid around today's, then settings ever closer to the best.
type Search struct {
	Cluster *Cluster
	Losses  []Loss
	Tick    func() // called after each run; may be nil. Several goroutines call it.

	scores map[Settings]*Score
}

const (
	grid  = 3 * 3 * 3 * 3
	steps = 2 // of refining, each with two neighbours in each of four dimensions
)

// leastGrace is four renewals of a lease. A shorter grace period would take a late renewal for a failure; no loss here plays
// late renewals.
const leastGrace = 40 * time.Second

// Runs returns how many runs a search over so many losses takes at most. It plays each as it is and as its longest false alarm.
func Runs(losses int) int { return 2 * losses * (grid + steps*8) }

// RunsOfRemedies is about how many runs Cluster.Break takes.
const RunsOfRemedies = 30

// played returns the losses and the longest false alarms, which stand for the shorter ones too: both are the same until the nodes
// are back.
func (s *Search) played() (all []Loss) {
	for _, loss := range s.Losses {
		if !loss.FalseAlarm || loss.For == longest {
			all = append(all, loss)
		}
	}
	return all
}

// stillSilent is how likely a false alarm lasts longer than so long, so that an eviction then comes while the pod runs.
func stillSilent(after time.Duration) float64 {
	if after < shortest {
		return 1
	}
	return max(0, math.Log(longest.Seconds()/after.Seconds())/math.Log(longest.Seconds()/shortest.Seconds()))
}

// Run searches.
func (s *Search) Run(ctx context.Context) (*Advice, error) {
	s.scores = make(map[Settings]*Score)
	today := s.Cluster.Today()
	var coarse []Settings
	for _, rate := range []float64{today.Rate, today.Rate / 5, today.Rate * 5} {
		for _, threshold := range []float64{today.Threshold, 0.3, 0.8} {
			for _, grace := range []time.Duration{today.Grace, max(today.Grace/2, leastGrace), today.Grace * 2} {
				for _, tolerance := range []time.Duration{today.Tolerance, time.Minute, 15 * time.Minute} {
					coarse = append(coarse, Settings{rate, threshold, grace, tolerance})
				}
			}
		}
	}
	if err := s.play(ctx, coarse); err != nil {
		return nil, err
	}
	for step := range steps {
		if err := s.play(ctx, s.best(today).neighbours(step)); err != nil {
			return nil, err
		}
	}
	a := &Advice{Today: *s.scores[today], Best: *s.best(today), Played: len(s.scores)}
	a.Front = s.front()
	return a, nil
}

// neighbours returns settings between these and the next of the grid, closer with each step.
func (s *Score) neighbours(step int) (all []Settings) {
	by := math.Pow(0.5, float64(step+1)) // of the distance to the next
	scale := func(d time.Duration, factor float64) time.Duration {
		return time.Duration(float64(d) * math.Pow(factor, by)).Round(time.Second)
	}
	for _, way := range []float64{1, -1} {
		of := func(factor float64) float64 { return math.Pow(factor, way) }
		all = append(all, []Settings{
			{round(s.Rate * math.Pow(of(5), by)), s.Threshold, s.Grace, s.Tolerance},
			{s.Rate, round(min(max(s.Threshold+way*0.25*by, 0.05), 1)), s.Grace, s.Tolerance},
			{s.Rate, s.Threshold, max(scale(s.Grace, of(2)), min(s.Grace, leastGrace)), s.Tolerance},
			{s.Rate, s.Threshold, s.Grace, scale(s.Tolerance, of(4))},
		}...)
	}
	return all
}

// round rounds to two digits.
func round(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}

// play plays settings that were not played yet, on all cores.
func (s *Search) play(ctx context.Context, all []Settings) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, settings := range all {
		if s.scores[settings] != nil {
			for range s.played() {
				s.tick()
			}
			continue
		}
		score := &Score{Settings: settings}
		s.scores[settings] = score
		group.Go(func() error { return s.score(ctx, score) })
	}
	return group.Wait()
}

// score plays the losses with the settings of a score.
func (s *Search) score(ctx context.Context, score *Score) error {
	for _, loss := range s.played() {
		lost := loss.lost()
		evicted := make(map[evictor.PodKey]time.Duration) // when, since the loss began
		observed := func(w *simulation.World) (simulation.Controller, error) {
			return w.NewEvictor(evictor.Options{Observer: evictor.Observe(nil, func(d evictor.PodDecision) {
				at := d.Time.Sub(simulation.Epoch) - Begins
				switch _, again := evicted[d.Pod.PodKey]; {
				case d.Kind != tainteviction.PodEvicted, at < 0, !lost[d.Pod.Node]: // of nodes that had failed before
				case loss.FalseAlarm:
					score.EvictedWhileRunning += stillSilent(at)
				case !again:
					evicted[d.Pod.PodKey] = at
				}
			})})
		}
		r, err := simulation.Play(ctx, s.Cluster.Scenario(loss, score.Settings), observed)
		if err != nil {
			return err
		}
		if !loss.FalseAlarm {
			score.PodHoursLost += r.PodHoursLost
			score.PodHoursMissing += r.PodHoursMissing
			score.MostPending = max(score.MostPending, r.MostPending)
			score.BeforeEviction += s.Cluster.beforeEviction(&loss, evicted, r).Hours()
		}
		s.tick()
	}
	return nil
}

// lost has the names of the nodes.
func (l *Loss) lost() map[string]bool {
	names := make(map[string]bool, len(l.Nodes))
	for _, name := range l.Nodes {
		names[name] = true
	}
	return names
}

// beforeEviction sums up how long the pods on the lost nodes were there until they were evicted, their Job failed, or the nodes were
// back.
func (c *Cluster) beforeEviction(loss *Loss, evicted map[evictor.PodKey]time.Duration, r *simulation.Report) (sum time.Duration) {
	failed := make(map[string]time.Duration)
	for i := range r.FailedJobs {
		failed[nameOfJob(&r.FailedJobs[i])] = r.FailedJobs[i].At - Begins
	}
	lost := loss.lost()
	for key, pod := range c.pods {
		if !lost[pod.node] {
			continue
		}
		until := loss.For
		if at, did := failed[pod.workload]; did {
			until = min(until, at)
		}
		if at, was := evicted[key]; was {
			until = min(until, at)
		}
		sum += until
	}
	return sum
}

func (s *Search) tick() {
	if s.Tick != nil {
		s.Tick()
	}
}

// best returns the cheapest settings of those that beat today's; if there are none, today's.
func (s *Search) best(today Settings) *Score {
	now := s.scores[today]
	best := now
	for _, score := range s.all() {
		if score.beats(now) && score.cost(now) < best.cost(now) {
			best = score
		}
	}
	return best
}

// all returns the scores in an order that does not depend on the map's.
func (s *Search) all() (all []*Score) {
	for _, score := range s.scores {
		all = append(all, score)
	}
	today := s.Cluster.Today()
	slices.SortFunc(all, func(a, b *Score) int {
		return cmp.Or(cmp.Compare(a.BeforeEviction, b.BeforeEviction), cmp.Compare(a.EvictedWhileRunning, b.EvictedWhileRunning), cmp.Compare(a.distance(today), b.distance(today)),
			cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Threshold, b.Threshold), cmp.Compare(a.Grace, b.Grace), cmp.Compare(a.Tolerance, b.Tolerance))
	})
	return all
}

// distance orders settings that cost the same: those that change less come first.
func (s *Settings) distance(today Settings) float64 {
	apart := func(a, b float64) float64 { return math.Abs(math.Log(max(a, 1e-6) / max(b, 1e-6))) }
	return apart(s.Rate, today.Rate) + apart(s.Threshold, today.Threshold) + apart(s.Grace.Seconds(), today.Grace.Seconds()) +
		apart(s.Tolerance.Seconds(), today.Tolerance.Seconds())
}

// front returns the scores than which none is better in one figure and not worse in the other; of equal ones, the first.
func (s *Search) front() (front []Score) {
	for _, score := range s.all() {
		if n := len(front); n == 0 || score.EvictedWhileRunning < front[n-1].EvictedWhileRunning {
			front = append(front, *score)
		}
	}
	return front
}
