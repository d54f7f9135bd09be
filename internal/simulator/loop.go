package simulator

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/zone"
)

const never = time.Duration(math.MaxInt64)

// maxLaps bounds how often pods may come back and be evicted at one instant.
const maxLaps = 1000

// run goes from instant to instant. Renewals between two instants at which anything else happens only
// tell the evictor of a sign of life, so they need no step of their own.
func (p *player) run(ctx context.Context) error {
	c, until := p.cluster, p.settings.Until
	at := time.Duration(0)
	told := time.Duration(-1)
	for {
		c.Clock.Set(at)
		if err := p.instant(ctx, at); err != nil {
			return err
		}
		if p.options.Progress != nil && at-told > until/1000 {
			told = at
			p.options.Progress(at, until)
		}
		if p.lineErr != nil {
			return p.lineErr
		}
		next := p.nextInstant()
		if next > until {
			if err := p.renewals(until, true); err != nil {
				return err
			}
			c.Clock.Set(until)
			return ctx.Err()
		}
		if next <= at {
			next = at // the evictor has more to do now
		} else if err := p.renewals(next, false); err != nil {
			return err
		}
		at = next
	}
}

// nextInstant is when anything but a renewal happens next.
func (p *player) nextInstant() time.Duration {
	next := never
	if len(p.events) > 0 {
		next = min(next, p.events[0].Time())
	}
	for i := range p.traces {
		if p.traces[i].at >= 0 {
			next = min(next, p.traces[i].at)
		}
	}
	if at, ok := p.cluster.NextReport(); ok {
		next = min(next, at)
	}
	if at, ok := p.nextComeback(); ok {
		next = min(next, at)
	}
	if !p.next.IsZero() {
		next = min(next, p.next.Sub(Epoch))
	}
	return next
}

// renewals lets kubelets renew before that instant, or also at it.
func (p *player) renewals(until time.Duration, inclusive bool) error {
	c := p.cluster
	for {
		at, ok := c.NextRenewal()
		if !ok || at > until || at == until && !inclusive {
			return nil
		}
		c.Clock.Set(at)
		c.Renew()
	}
}

// instant does what happens now, in the order of the format's rules.
func (p *player) instant(ctx context.Context, at time.Duration) error {
	restart, err := p.happenings(at)
	if err != nil {
		return err
	}
	for i := range p.traces {
		p.traces[i].drive(p, at)
	}
	if err := p.renewals(at, true); err != nil {
		return err
	}
	for due, ok := p.cluster.NextReport(); ok && due <= at; due, ok = p.cluster.NextReport() {
		p.cluster.Report()
	}
	if restart {
		if err := p.restart(); err != nil {
			return err
		}
	}
	return p.steps(ctx, at)
}

// happenings does the events of now but a restart, which comes later.
func (p *player) happenings(at time.Duration) (restart bool, err error) {
	for len(p.events) > 0 && p.events[0].Time() <= at {
		e := p.events[0]
		p.events = p.events[1:]
		if e.Restart != nil {
			restart = true
			continue
		}
		if err := p.happen(&e.Event); err != nil {
			return restart, fmt.Errorf("event %d (at %v): %w", e.number, at, err)
		}
	}
	return restart, nil
}

// steps lets the controller do what is due until no more pods come back now.
func (p *player) steps(ctx context.Context, at time.Duration) error {
	for range maxLaps {
		p.comeBack(at)
		next, err := p.subject.Step(ctx)
		if err != nil {
			return err
		}
		p.next = next
		p.report.Passes++
		if due, ok := p.nextComeback(); !ok || due > at {
			return nil
		}
	}
	return fmt.Errorf("at %v pods come back and are evicted again without end: reschedule.after is too short", at)
}

// happen does one event.
func (p *player) happen(e *scenario.Event) error {
	c := p.cluster
	missing := func(name string, ok bool) error {
		if ok {
			return nil
		}
		return fmt.Errorf("node %s is not there or does not answer", name)
	}
	switch {
	case e.Fail != nil:
		return p.selected(e.Fail, func(name string) bool { return !c.Failed(name) }, func(name string) { c.Fail(name) })
	case e.Recover != nil:
		return p.selected(e.Recover, c.Failed, func(name string) { c.Recover(name) })
	case e.Condition != nil:
		return missing(e.Condition.Node, c.SetCondition(e.Condition.Node, v1.NodeConditionType(e.Condition.Type), v1.ConditionStatus(e.Condition.Status)))
	case e.Taint != nil:
		return missing(e.Taint.Node, c.SetTaint(e.Taint.Node, v1.Taint{Key: e.Taint.Key, Value: e.Taint.Value, Effect: v1.TaintEffect(e.Taint.Effect)}))
	case e.Untaint != nil:
		return missing(e.Untaint.Node, c.RemoveTaint(e.Untaint.Node, e.Untaint.Key, v1.TaintEffect(e.Untaint.Effect)))
	case e.Cordon != nil:
		return missing(e.Cordon.Node, c.Cordon(e.Cordon.Node, true))
	case e.Uncordon != nil:
		return missing(e.Uncordon.Node, c.Cordon(e.Uncordon.Node, false))
	case e.DeleteNode != nil:
		defer p.remember()
		return missing(e.DeleteNode.Node, c.DeleteNode(e.DeleteNode.Node))
	case e.AddNode != nil:
		return p.addNode(e.AddNode)
	case e.AddPod != nil:
		key := evictor.PodKey{Namespace: "default", Name: e.AddPod.Name}
		return c.AddPod(key, e.AddPod.Node, PodSpec{Tolerations: tolerations(e.AddPod.TolerationSeconds, p.settings)})
	case e.DeletePod != nil:
		namespace, name := scenario.SplitPodName(e.DeletePod.Name)
		c.DeletePod(evictor.PodKey{Namespace: namespace, Name: name}) // evicted meanwhile: nothing to delete
	case e.ForceDelete != nil:
		namespace, name := scenario.SplitPodName(e.ForceDelete.Name)
		c.ForceDeletePod(evictor.PodKey{Namespace: namespace, Name: name})
	case e.API != nil:
		p.apiDown = e.API.State == scenario.APIDown
	}
	return nil
}

func (p *player) addNode(a *scenario.AddNode) error {
	c := p.cluster
	if err := c.AddNode(a.Name, zone.Key{Region: a.Region, Zone: a.Zone}); err != nil {
		return err
	}
	for i := range a.PodsPerNode {
		spec := PodSpec{OwnerKind: "ReplicaSet", OwnerName: a.Zone, Tolerations: tolerations(a.TolerationSeconds, p.settings)}
		if err := c.AddPod(evictor.PodKey{Namespace: "default", Name: scenario.PodName(a.Name, i)}, a.Name, spec); err != nil {
			return err
		}
	}
	c.startKubelet(c.nodeByID[a.Name])
	p.remember()
	return nil
}

// selected does something to the nodes that a selector chooses and that qualify.
func (p *player) selected(s *scenario.Selector, qualifies func(string) bool, do func(string)) error {
	names := s.Nodes
	switch {
	case s.Node != "":
		names = []string{s.Node}
	case s.Zone != nil:
		key, err := p.zone(*s.Zone)
		if err != nil {
			return err
		}
		names = p.cluster.NodesOf(key)
	}
	left := len(names)
	if s.Count != nil {
		left = *s.Count
	}
	for _, name := range names {
		if left > 0 && qualifies(name) {
			left--
			do(name)
		}
	}
	return nil
}

// zone resolves a reference among the zones that ever had a node.
func (p *player) zone(ref string) (zone.Key, error) {
	var keys []scenario.ZoneKey
	have := make(map[zone.Key]bool)
	for i := range p.cluster.nodes {
		if key := p.cluster.nodes[i].zone; !have[key] {
			have[key] = true
			keys = append(keys, scenario.ZoneKey(key))
		}
	}
	key, err := scenario.ResolveZone(ref, keys)
	return zone.Key(key), err
}

// NodesOf are the names of a zone's nodes, sorted.
func (c *Cluster) NodesOf(key zone.Key) []string {
	var names []string
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && n.zone == key {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names
}

// drivers prepares the traces.
func (p *player) drivers() error {
	for _, a := range p.scenario.Availability {
		key, err := p.zone(*a.Zone)
		if err != nil {
			return err
		}
		p.traces = append(p.traces, driver{key: key, trace: a.Trace, scale: a.Scale, names: p.cluster.NodesOf(key)})
	}
	return nil
}

// remember looks up the nodes of the traces' zones again, after one came or went. The traces decide
// about them at once.
func (p *player) remember() {
	for i := range p.traces {
		d := &p.traces[i]
		d.names = p.cluster.NodesOf(d.key)
		d.at = p.cluster.Clock.Elapsed()
	}
}

// drive lets as many nodes be alive as the sample of now says.
func (d *driver) drive(p *player, at time.Duration) {
	if d.at < 0 || d.at > at {
		return
	}
	j := d.trace.Index(at)
	sample := d.trace.Sample(j)
	alive := d.trace.Alive(sample, len(d.names), d.scale)
	for i, name := range d.names {
		if i < alive {
			p.cluster.Recover(name)
		} else {
			p.cluster.Fail(name)
		}
	}
	d.at = -1
	for k := j + 1; k < d.trace.Len() && time.Duration(k) <= never/d.trace.Gap(); k++ {
		if d.trace.Sample(k) != sample {
			d.at = time.Duration(k) * d.trace.Gap()
			return
		}
	}
}
