package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// The guard of package clientgo, with its defaults: it looks eight times in each silence, and reads some leases live if
// no lease was seen to advance for that long.
const (
	longestSilence = 20 * time.Second
	shareOfGrace   = 2.0 / 5 // of the grace period, if that is less
	looksInSilence = 8
	probedLeases   = 3
)

// guard plays how clientgo's guard tells an evictor whether it sees the cluster.
type guard struct {
	silence time.Duration
	last    time.Duration // when the last look ended, or else when the process began
	due     time.Duration // see nextLook
	ends    time.Duration // when the current look ends, which waits for answers; never if there is none
	finds   error         // what it will have found
	broken  time.Duration // since when the watches are broken; never if they are not
	next    int           // the first lease to read at the next look, counted from the one that was renewed last
	unseen  sighting      // what the last look read and the watch did not show
	err     error         // what was told last
}

// sighting is a renewal that was read; the zero sighting is none.
type sighting struct {
	node    string
	renewed int64
}

var errUnanswered = errors.New("no answer")

func newGuard(grace, began time.Duration) guard {
	silence := min(longestSilence, time.Duration(float64(grace)*shareOfGrace))
	return guard{silence: silence, last: began, due: never, ends: never, broken: never}
}

// every is the time between two looks.
func (g *guard) every() time.Duration { return max(g.silence/looksInSilence, time.Millisecond) }

// from returns when the first look begins at that time or later.
func (g *guard) from(at time.Duration) time.Duration {
	later := max(at-g.last, 1) + g.every() - 1
	return g.last + later - later%g.every()
}

// nextLook returns when the next look begins, or the current one ends; never while looks can only find that all is well.
func (p *player) nextLook() time.Duration {
	g := &p.guard
	switch {
	case !p.playsGuard():
		return never
	case g.ends != never:
		return g.ends
	case g.err != nil || p.apiDown || p.writer.latency > 0 || p.cluster.loses:
		return g.from(p.cluster.Clock.Elapsed())
	}
	return never
}

// look lets the guard look if it is time.
func (p *player) look(at time.Duration) {
	g := &p.guard
	if g.due > at {
		return
	}
	if g.ends == never {
		took, finds := p.sees(at)
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

// tellOf reports what a part of the controllers' process does.
func (p *player) tellOf(part, text string) {
	fields := timeline.Fields{"by": part, "text": text, "nodes": []string{}}
	p.line(timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindEvent, More: fields.String()})
}

// sees returns what a look finds that begins now, and how long it takes.
func (p *player) sees(at time.Duration) (took time.Duration, found error) {
	g := &p.guard
	quiet, was := at-time.Duration(p.cluster.advanced), g.unseen
	switch {
	case quiet < g.silence:
		g.next, g.unseen = 0, sighting{}
		return 0, nil
	case p.apiDown:
		return 0, fmt.Errorf("no lease has advanced for %s, and none can be read", quiet.Round(time.Second))
	}
	live, took, err := p.probe()
	if err != nil {
		return took, fmt.Errorf("no lease has advanced for %s, and none can be read: %w", quiet.Round(time.Second), err)
	}
	g.unseen = live
	switch {
	case live == sighting{}:
		return took, nil
	case p.cluster.hides(was):
		return took, fmt.Errorf("the watch of leases has stood still for %s: node %s renewed its lease unseen", quiet.Round(time.Second), was.node)
	default:
		return took, g.err // the watch may be about to deliver it; the next look decides
	}
}

// probe reads a few leases, and returns one that has advanced unseen, if any.
func (p *player) probe() (live sighting, took time.Duration, err error) {
	g, c := &p.guard, p.cluster
	patience := g.silence / 2
	for _, i := range c.toRead(g) {
		g.next++
		if took += p.writer.latency; took > patience {
			return live, patience, fmt.Errorf("%w within %s", errUnanswered, patience)
		}
		n := &c.nodes[i]
		if at := (sighting{n.name, n.renewed}); c.hides(at) {
			return at, took, nil
		}
	}
	return live, took, nil
}

// hides says whether the watch has not shown that renewal or a later one.
func (c *cluster) hides(s sighting) bool {
	i, exists := c.nodeByID[s.node]
	return exists && c.nodes[i].seen < s.renewed
}

// toRead returns the nodes whose leases a look reads: the one first whose renewal was read and not seen, and then by the last
// renewal that the watch has shown, the latest first.
func (c *cluster) toRead(g *guard) (nodes []int32) {
	var all []int32
	for i := range c.nodes {
		if !c.nodes[i].deleted {
			all = append(all, int32(i))
		}
	}
	slices.SortFunc(all, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.nodes[b].seen, c.nodes[a].seen), cmp.Compare(c.nodes[a].name, c.nodes[b].name))
	})
	from := g.next
	if i, exists := c.nodeByID[g.unseen.node]; exists {
		nodes = append(nodes, i)
	}
	for k := range min(probedLeases, len(all)) {
		nodes = append(nodes, all[(from+k)%len(all)])
	}
	return nodes[:min(probedLeases, len(nodes))]
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
		if n := &c.nodes[i]; !n.deleted && !n.unseen && n.seen < n.renewed {
			n.seen, n.shown, n.missed = n.renewed, n.renewed, false
			c.world.late(n.name, Epoch.Add(time.Duration(n.renewed)))
		}
	}
}

// playsOutages says whether an outage of the API is played as clusters live it.
func (p *player) playsOutages() bool { return !p.driven && !p.scenario.ControllersOnly }

// playsGuard says whether there is a guard. Processes that end with their leadership have none.
func (p *player) playsGuard() bool { return p.playsOutages() && !p.leader.process }
