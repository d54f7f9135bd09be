package simulation

import (
	"cmp"
	"errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// limits takes over what a line says about a zone, or about all zones.
func (c *cluster) limits(l *timeline.Line) {
	now := c.now()
	switch {
	case l.Kind == timeline.KindZone:
		z := c.zoneNamed(l.Zone)
		z.enters(now, Limit{State: l.State, Rate: l.Rate, From: l.T, Ready: l.Ready, NotReady: l.NotReady})
	case l.Kind == timeline.KindCluster && l.State == timeline.AllZonesDisrupted:
		for _, z := range c.zones {
			z.enters(now, Limit{State: l.State, From: l.T, Ready: z.current.Ready, NotReady: z.current.NotReady})
		}
	}
}

// hinder takes over what an evictor decides about a node's turn, and about all harm. holds says why it holds a node.
func (c *cluster) hinder(d *evictor.NodeDecision, holds func(c *cluster, i int32) string) {
	if d.Kind == nodelifecycle.GateChanged {
		c.shut(d)
		return
	}
	i, exists := c.nodeByID[d.Node]
	if !exists {
		return
	}
	is := c.hindrances[i]
	switch d.Kind {
	case nodelifecycle.NodeQueued:
		is = hindrance{queued: true}
	case nodelifecycle.TurnRefused:
		is = hindrance{queued: true, refused: d.Reason}
	case nodelifecycle.NodeEmptied:
		is = hindrance{emptied: true}
	case nodelifecycle.NodeVerdict, nodelifecycle.NodeDequeued:
		is = hindrance{held: holds(c, i)}
	case nodelifecycle.TurnEnded:
		is.refused = ""
	default:
		return
	}
	if c.hindrances[i] = is; is == (hindrance{}) {
		delete(c.hindrances, i)
	}
	c.bookNode(i)
}

// shut notes that an evictor may do no harm in a zone or write nothing, or again.
func (c *cluster) shut(d *evictor.NodeDecision) {
	reason := ""
	if no := (*gate.Refused)(nil); errors.As(d.Err, &no) {
		reason = no.Reason
	}
	for name, z := range c.zones {
		if d.Reason == "writes" || name == d.Zone.String() {
			z.pass(c.now())
			z.shut = reason
		}
	}
}

// forgetHindrances forgets what the last evictor has told.
func (c *cluster) forgetHindrances() {
	was := c.hindrances
	c.hindrances = make(map[int32]hindrance)
	for i := range was {
		c.bookNode(i)
	}
	for _, z := range c.zones {
		z.pass(c.now())
		z.shut = ""
	}
}

// holds says why the evictor's Options.Hold holds a node; it is empty if it does not.
func (w *World) holds(c *cluster, i int32) string {
	if w.hold == nil {
		return ""
	}
	if reason, held := w.hold(c.buildNode(&c.nodes[i])); held {
		return cmp.Or(reason, "held")
	}
	return ""
}
