package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/sighting"
)

// The silence of the guard of package clientgo, by its defaults. What it looks at is judged by the same rule.
const (
	longestSilence = 20 * time.Second
	shareOfGrace   = 2.0 / 5 // of the grace period, if that is less
)

// guard plays how clientgo's guard tells an evictor whether it sees the cluster.
type guard struct {
	watch  sighting.Watch
	last   time.Duration // when the last look ended, or else when the process began
	due    time.Duration // see nextLook
	ends   time.Duration // when the current look ends, which waits for answers; never if there is none
	finds  error         // what it will have found
	broken time.Duration // since when the watches are broken; never if they are not
	err    error         // what was told last
}

var errUnanswered = errors.New("no answer")

func newGuard(grace, began time.Duration) guard {
	silence := min(longestSilence, time.Duration(float64(grace)*shareOfGrace))
	return guard{watch: sighting.Watch{Silence: silence}, last: began, due: never, ends: never, broken: never}
}

// from returns when the first look begins at that time or later.
func (g *guard) from(at time.Duration) time.Duration {
	later := max(at-g.last, 1) + g.watch.Every() - 1
	return g.last + later - later%g.watch.Every()
}

// nextLook returns when the next look begins, or the current one ends; never while looks can only find that all is well.
func (p *player) nextLook() time.Duration {
	g := &p.guard
	switch {
	case !p.playsGuard():
		return never
	case g.ends != never:
		return g.ends
	case g.err != nil || p.apiDown || p.writer.sender.Latency > 0 || p.cluster.loses:
		return g.from(p.cluster.Clock.Elapsed())
	}
	return never
}

// look lets the guard look if it is time.
func (p *player) look(ctx context.Context, at time.Duration) {
	g := &p.guard
	if g.due > at {
		return
	}
	if g.ends == never {
		took, finds := p.sees(ctx, at)
		g.ends, g.finds = at+took, finds
	}
	if g.ends > at {
		return
	}
	found := g.finds
	g.last, g.ends = at, never
	changed := (found == nil) != (g.err == nil)
	g.err = found
	if !changed {
		return
	}
	text := "the controller sees the cluster again: grace periods begin anew"
	if found != nil {
		text = "the controller does not see the cluster well enough, so that nobody is declared failed: " + found.Error()
	}
	p.tellOf("guard", text)
	for _, target := range p.world.targets {
		target.SetObserverHealth(found)
	}
	p.leader.sees(p, at)
}

// sees returns what a look finds that begins now, and how long it takes.
func (p *player) sees(ctx context.Context, at time.Duration) (took time.Duration, found error) {
	g, leases := &p.guard, probing{player: p}
	facts := sighting.Facts{Quiet: at - time.Duration(p.cluster.advanced), Told: g.err}
	if p.apiDown && facts.Quiet >= g.watch.Silence { // its watches are broken, whatever leases say
		return 0, fmt.Errorf("no lease has advanced for %s, and none can be read: %w", facts.Quiet.Round(time.Second), errAPIDown)
	}
	found = g.watch.Look(ctx, facts, &leases)
	return leases.took, found
}

// probing reads leases for the guard, and knows how long that took.
type probing struct {
	*player
	took time.Duration
}

// LastShown names leases as the watch shows them.
func (p *probing) LastShown(from, n int) []string {
	c := p.cluster
	var all []*node
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.Deleted {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.seen, a.seen), cmp.Compare(a.Name, b.Name))
	})
	names := make([]string, 0, n)
	for k := range min(n, len(all)) {
		names = append(names, all[(from+k)%len(all)].Name)
	}
	return names
}

// Read reads a lease from the API.
func (p *probing) Read(_ context.Context, name string) (time.Time, error) {
	i, exists := p.cluster.nodeByID[name]
	if !exists {
		return time.Time{}, nil
	}
	if p.took += p.writer.sender.Latency; p.took > p.guard.watch.Patience() {
		p.took = p.guard.watch.Patience()
		return time.Time{}, fmt.Errorf("%w within %s", errUnanswered, p.took)
	}
	return Epoch.Add(time.Duration(p.cluster.nodes[i].renewed)), nil
}

// Shows says whether the watch shows that renewal, or a later one.
func (p *probing) Shows(r sighting.Renewal) bool {
	i, exists := p.cluster.nodeByID[r.Node]
	return !exists || p.cluster.nodes[i].seen >= int64(r.At.Sub(Epoch))
}

// watchesBreak makes the watches show nothing, or what they have missed and whatever comes.
func (p *player) watchesBreak(broken bool) {
	c := p.cluster
	if broken == (p.guard.broken != never) {
		return
	}
	if p.guard.broken = never; broken {
		p.guard.broken = c.Clock.Elapsed()
	}
	if c.blind = broken && p.playsOutages(); c.blind {
		return
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.Deleted && !n.unseen && n.seen < n.renewed {
			n.seen, n.shown, n.missed = n.renewed, n.renewed, false
			c.world.late(n.Name, Epoch.Add(time.Duration(n.renewed)))
		}
	}
}
