package drill

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Group is what a loss breaks for one reason, and what helps.
type Group struct {
	Cause     string
	Refused   string                       // what refused one of its pods at the nodes, as in 0/12 nodes: 8 taint, 4 cpu; may be empty
	Workloads []*simulation.WorkloadReport // those that suffer most come first
	Lost      int                          // their pods on the lost nodes
	Remedies  []Remedy                     // that change a figure for the better, the best first
	Template  []string                     // for which objects a change of the pod template holds; empty if no remedy makes one
	Otherwise string                       // what else may help, and cannot be played; may be empty

	of    cause
	names map[string]bool
}

func (g *Group) has(workload string) bool { return g.names[workload] }

// Broken is what a loss breaks.
type Broken struct {
	Result
	Effect          // today
	Groups []*Group // that first whose first remedy gains most
	// Hasty is how many pods a false alarm of HastyAlarm evicts while they run, today; 0 if no remedy makes evictions come earlier.
	Hasty int
	// Tainted is what the loss costs if its nodes are tainted out of service; nil if no pod is stuck and no Job fails.
	Tainted *Effect
	// Together is what the loss costs with the first remedy of each group that lowers the pod-hours lost; nil if these are fewer than
	// two.
	Together *Effect
}

// Break finds out whom a loss hurts and why, and plays what could help. It calls tick after each run.
func (c *Cluster) Break(ctx context.Context, r Result, tick func()) (*Broken, error) {
	b := &Broken{Result: r, Effect: effectOf(r.Report)}
	var tainted *Result
	if r.Stuck() > 0 || len(r.FailedJobs) > 0 {
		with, err := c.play(ctx, r.Loss, outOfService(&r.Loss))
		if err != nil {
			return nil, err
		}
		tick()
		effect := effectOf(with.Report)
		tainted, b.Tainted = &with, &effect
	}
	b.Groups = c.groups(&r, tainted)
	group, playing := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	hasty := false
	for _, g := range b.Groups {
		g.Remedies, g.Otherwise = c.propose(g, &r.Loss), otherwise[g.of.kind]
		for k := range g.Remedies {
			hasty = hasty || g.Remedies[k].Hasty >= 0
			group.Go(func() error { return g.Remedies[k].play(playing, c, r.Loss, tick) })
		}
	}
	if hasty {
		group.Go(func() error {
			today := Remedy{}
			err := today.alarm(playing, c, r.Loss, tick)
			b.Hasty = today.Hasty
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	b.rank()
	return b, b.together(ctx, c, tick)
}

// groups sorts the workloads that a loss hurts by cause.
func (c *Cluster) groups(r, tainted *Result) (all []*Group) {
	var below []*simulation.WorkloadReport
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Below > 0 {
			below = append(below, w)
		}
	}
	slices.SortStableFunc(below, func(a, b *simulation.WorkloadReport) int {
		return cmp.Or(cmp.Compare(b.BelowHalf, a.BelowHalf), cmp.Compare(a.LowestReadyShare, b.LowestReadyShare), cmp.Compare(b.PodHoursMissing, a.PodHoursMissing))
	})
	for _, w := range below {
		of := c.causeOf(w, r, tainted)
		at := slices.IndexFunc(all, func(g *Group) bool { return g.of.kind == of.kind && g.Cause == of.text })
		if at < 0 {
			at = len(all)
			all = append(all, &Group{Cause: of.text, Refused: of.refused, of: of, names: make(map[string]bool)})
		}
		g := all[at]
		g.Workloads, g.names[w.String()] = append(g.Workloads, w), true
		if wait := r.waits[w.String()]; wait != nil {
			g.Lost += wait.pods
		}
	}
	if r.LostForGood > 0 {
		all = append(all, &Group{Cause: texts[nobodys], Lost: r.LostForGood, of: because(nobodys), names: map[string]bool{"": true}})
	}
	return all
}

// rank drops the remedies that help nobody, and puts the best first, and the group first whose best gains most.
func (b *Broken) rank() {
	for _, g := range b.Groups {
		g.Remedies = slices.DeleteFunc(g.Remedies, func(m Remedy) bool {
			if m.Tainted && b.Tainted != nil && !m.helps(b.Tainted) {
				return true // the taint alone does as much
			}
			return !m.helps(&b.Effect)
		})
		slices.SortStableFunc(g.Remedies, func(x, y Remedy) int { return x.compare(&y.Effect) })
		if slices.ContainsFunc(g.Remedies, func(m Remedy) bool { return m.template }) {
			g.Template = templates(g)
		}
	}
	slices.SortStableFunc(b.Groups, func(x, y *Group) int { return cmp.Compare(b.gain(y), b.gain(x)) })
}

// gain is by how much a group's first remedy lowers the pod-hours lost, without what the taint that it needs does alone. Those without
// a remedy come last.
func (b *Broken) gain(g *Group) float64 {
	switch {
	case len(g.Remedies) == 0:
		return math.Inf(-1)
	case g.Remedies[0].Tainted && b.Tainted != nil:
		return b.Tainted.PodHoursLost - g.Remedies[0].PodHoursLost
	}
	return b.PodHoursLost - g.Remedies[0].PodHoursLost
}

// together plays the first remedies of the groups that lower the pod-hours lost, all at once.
func (b *Broken) together(ctx context.Context, c *Cluster, tick func()) error {
	all := Remedy{Hasty: -1}
	n := 0
	for _, g := range b.Groups {
		if first := g.Remedies; len(first) > 0 && first[0].PodHoursLost < b.PodHoursLost {
			all.alters, n = append(all.alters, first[0].alters...), n+1
		}
	}
	if n < 2 {
		return nil
	}
	b.Together = &all.Effect
	return all.play(ctx, c, b.Loss, tick)
}
