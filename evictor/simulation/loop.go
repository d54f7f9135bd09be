package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

const never = time.Duration(math.MaxInt64)

// maxLaps limits how often pods may come back and be evicted at one instant.
const maxLaps = 1000

// run goes from instant to instant. Renewals in between only tell the evictor of a sign of life, so they need no step.
func (p *player) run(ctx context.Context) error {
	until, told := p.scenario.Until, time.Duration(-1)
	for next := time.Duration(0); ; {
		at := p.advance(next)
		if err := p.instant(ctx, at); err != nil {
			return err
		}
		if p.scenario.Progress != nil && at-told > until/1000 {
			told = at
			p.scenario.Progress(at)
		}
		if err := cmp.Or(p.lineErr, ctx.Err()); err != nil {
			return err
		}
		next = max(at, p.nextInstant()) // it is now if the evictor has more to do
		if next <= until {
			continue
		}
		if next = p.advance(until); next == until && p.nextInstant() > until {
			p.renewals(until)
			return ctx.Err()
		}
	}
}

// advance lets time pass until the next instant, and kubelets renew before it. If a Clock of the scenario stops, because a
// controller with timers of its own has written, that is the next instant.
func (p *player) advance(next time.Duration) time.Duration {
	c := p.cluster
	for {
		at := min(next, c.NextRenewal())
		c.Clock.Set(at)
		now := min(c.Clock.Elapsed(), at)
		if p.sampler != nil {
			p.sampler.holds(p, now)
		}
		switch {
		case now < at:
			return now
		case at == next:
			return next
		default:
			c.Renew()
		}
	}
}

// happenings plays the events of this instant, except a restart, which comes later.
func (p *player) happenings(at time.Duration) error {
	for len(p.events) > 0 && p.events[0].At <= at {
		e := &p.events[0]
		p.events = p.events[1:]
		if p.waits(e) {
			p.wait(e, at)
			continue
		}
		if e.Restart != nil {
			p.restarts = true
		} else if err := p.happen(e); err != nil {
			return e.impossible(at, err)
		}
		p.tellEvent(e)
		if e.API != nil {
			p.goOnWaiting()
		}
	}
	return nil
}

// steps lets the controller do what is due until no more pods come back at this instant.
func (p *player) steps(ctx context.Context, at time.Duration) error {
	for range maxLaps {
		p.comeBack(at)
		next, err := p.stepWorld(ctx)
		if err != nil {
			return err
		}
		p.next = next
		p.report.Passes++
		if p.nextComeback() > at {
			return nil
		}
	}
	return fmt.Errorf("at %v pods come back and are evicted again without end: replaceAfter is too short", at)
}

// zone resolves a reference among the zones that ever had a node.
func (p *player) zone(ref string) (zone.Key, error) {
	var keys []zone.Key
	have := make(map[zone.Key]bool)
	for i := range p.cluster.nodes {
		if key := p.cluster.nodes[i].zone; !have[key] {
			have[key] = true
			keys = append(keys, key)
		}
	}
	return resolveZone(ref, keys)
}

// nodesOf returns the sorted names of a zone's nodes.
func (c *cluster) nodesOf(key zone.Key) []string {
	var names []string
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && n.zone == key {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names
}

// drivers prepares the traces, and reports their faults. If not all zones could be generated, it does not know which exist.
func (p *player) drivers(f faults, complete bool) {
	for i := range p.scenario.Traces {
		t := &p.scenario.Traces[i]
		f := f.at(fmt.Sprintf("trace %d", i+1), "traces", item(i))
		r := newRecording(f, t)
		key, err := p.zone(t.Zone)
		switch {
		case t.Zone == "":
			f.missing("zone")
		case err != nil && complete:
			f.at("", "zone").add("%w", err)
		case err == nil && slices.ContainsFunc(p.traces, func(d driver) bool { return d.key == key }):
			f.at("", "zone").add("zone %q already has a trace", t.Zone)
		case err == nil:
			p.traces = append(p.traces, driver{number: i + 1, key: key, trace: r, names: p.cluster.nodesOf(key)})
			if p.traces[len(p.traces)-1].exceeds() {
				p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("trace %d: its scale of %d makes more than the %d nodes of zone %q alive; more than all are all", i+1, t.Scale, len(p.cluster.nodesOf(key)), t.Zone))
			}
		}
	}
}

// exceeds says whether the trace has more nodes alive than there are.
func (d *driver) exceeds() bool {
	return d.trace != nil && d.trace.Scale > 0 && d.trace.largest > len(d.names)/d.trace.Scale
}

// remember looks up the nodes of the traces' zones again, after one was added, deleted or moved. The traces decide
// about them at once.
func (p *player) remember() {
	for i := range p.traces {
		d := &p.traces[i]
		d.names = p.cluster.nodesOf(d.key)
		d.at = p.cluster.Clock.Elapsed()
	}
}

// drive makes as many nodes alive as the current sample says.
func (d *driver) drive(p *player, at time.Duration) {
	if d.at < 0 || d.at > at {
		return
	}
	j := d.trace.index(at)
	sample := d.trace.Alive[j]
	alive := d.trace.alive(sample, len(d.names))
	var failed, back []string
	for i, name := range d.names {
		n := &p.cluster.nodes[p.cluster.nodeByID[name]]
		if lives := i < alive; lives && p.cluster.Recover(n) {
			back = append(back, name)
		} else if !lives && p.cluster.Fail(n) {
			failed = append(failed, name)
		}
	}
	if len(failed)+len(back) > 0 {
		p.tellTrace(d.number, failed, back)
	}
	d.at = -1
	for k := j + 1; k < len(d.trace.Alive) && time.Duration(k) <= never/d.trace.Gap; k++ {
		if d.trace.Alive[k] != sample {
			d.at = time.Duration(k) * d.trace.Gap
			return
		}
	}
}
