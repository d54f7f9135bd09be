package differential

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// about is what lines or decisions have in common. The zone is that of the line or of its node.
type about struct {
	kind            timeline.Kind
	node, pod, zone string
}

// index finds the lines of a timeline, in their order: by node, by node and pod, and by zone.
type index map[about][]*timeline.Line

func indexOf(lines []timeline.Line, zoneOf map[string]string) index {
	x := index{}
	add := func(a about, l *timeline.Line) { x[a] = append(x[a], l) }
	for i := range lines {
		l := &lines[i]
		zone := l.Zone
		if l.Node != "" {
			zone = zoneOf[l.Node]
			add(about{kind: l.Kind, node: l.Node}, l)
		}
		if l.Pod != "" {
			add(about{kind: l.Kind, node: l.Node, pod: l.Pod}, l)
		}
		add(about{kind: l.Kind, zone: zone}, l)
	}
	return x
}

// wrote says whether there is such a line within that span.
func (x index) wrote(a about, from, to time.Duration, is func(*timeline.Line) bool) bool {
	return slices.ContainsFunc(x[a], func(l *timeline.Line) bool { return l.T >= from && l.T <= to && is(l) })
}

func anyLine(*timeline.Line) bool { return true }

// tainted says whether one of our NoExecute taints was added to the node within that span.
func (x index) tainted(node string, from, to time.Duration) bool {
	return x.wrote(about{kind: timeline.KindTaint, node: node}, from, to, func(l *timeline.Line) bool { return ownNoExecute(*l) && l.Op == timeline.OpAdd })
}

// decided finds our decisions about nodes, in the order of time: by kind and node, or by kind and zone.
type decided map[decidedAbout][]*evictor.NodeDecision

type decidedAbout struct {
	kind       nodelifecycle.Kind
	node, zone string
}

func decidedIn(decisions []evictor.NodeDecision, zoneOf map[string]string) decided {
	x := decided{}
	add := func(a decidedAbout, d *evictor.NodeDecision) { x[a] = append(x[a], d) }
	for i := range decisions {
		d := &decisions[i]
		switch d.Kind {
		case nodelifecycle.NodeVerdict:
			add(decidedAbout{kind: d.Kind, node: d.Node}, d)
		case nodelifecycle.NodeQueued, nodelifecycle.NodeEmptied:
			add(decidedAbout{kind: d.Kind, zone: zoneOf[d.Node]}, d)
		}
	}
	return x
}

// indexLeft notes the lines that match left over by what equal lines of a side have in common.
func (e *explainer) indexLeft() {
	e.byIdentity = map[Left][]int{}
	for i, l := range e.left {
		same := Left{l.Side, identity(l.Line)}
		e.byIdentity[same] = append(e.byIdentity[same], i)
	}
}

// since returns the place of the first of the lines left over at that instant or later.
func (e *explainer) since(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(e.left, at, func(l Left, at time.Duration) int { return cmp.Compare(l.T, at) })
	return i
}

// queued returns which nodes of the zone began to wait within that span.
func (e *explainer) queued(zone string, from, to time.Duration) []*evictor.NodeDecision {
	all := e.decided[decidedAbout{kind: nodelifecycle.NodeQueued, zone: zone}]
	place := func(at time.Duration) int {
		i, _ := slices.BinarySearchFunc(all, at, func(d *evictor.NodeDecision, at time.Duration) int { return cmp.Compare(d.Time.Sub(epoch), at) })
		return i
	}
	return all[place(from):place(to+1)]
}
