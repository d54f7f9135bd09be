package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// teller reports settings, events, and reasons.
type teller struct {
	verdicts  map[string]string // of nodes, as text
	touched   []string          // nodes that the current event affected
	condemned evictor.PodKey    // with which a group leaves right now
}

func (p *player) tellSettings() {
	p.teller.verdicts = make(map[string]string)
	p.writer.why = &p.teller
	p.line(timeline.Line{Kind: timeline.KindSettings, More: p.scenario.Settings().String()})
}

// tellTouched reports the nodes that were affected.
func (p *player) tellTouched(fields timeline.Fields) {
	fields["nodes"] = p.teller.touched
	p.line(timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindEvent, More: fields.String()})
	p.teller.touched = p.teller.touched[:0]
}

// tellTrace reports which nodes a trace has failed, and which recovered.
func (p *player) tellTrace(number int, failed, back []string) {
	for _, of := range []struct {
		text  string
		nodes []string
	}{{"the trace fails nodes", failed}, {"the trace recovers nodes", back}} {
		if len(of.nodes) > 0 {
			p.teller.touched = of.nodes
			p.tellTouched(timeline.Fields{"availability": number, "text": of.text})
		}
	}
}

// touch records that the current event affected a node.
func (p *player) touch(name string) { p.teller.touched = append(p.teller.touched, name) }

// decided records the reason for a node's verdict.
func (t *teller) decided(d *evictor.NodeDecision) {
	if d.Kind != nodelifecycle.NodeVerdict {
		return
	}
	if d.Silence > 0 {
		t.verdicts[d.Node] = fmt.Sprintf("no heartbeat seen for %v (grace %v)", d.Silence, d.Grace)
		return
	}
	t.verdicts[d.Node] = fmt.Sprintf("Ready is %s, was %s", cmp.Or(d.To, "missing"), cmp.Or(d.From, "missing"))
}

// because returns a reason as Line.More.
func because(reason string) string { return timeline.Fields{"reason": reason}.String() }

// ofNode returns why something was done to a node or its pods because of its health.
func (t *teller) ofNode(name string) string {
	if t == nil || t.verdicts[name] == "" {
		return ""
	}
	return because(t.verdicts[name])
}

// ofTaint returns why a taint was added or removed that follows the node's health. A taint may be removed before a
// verdict is reported; then the reason is what the API shows.
func (t *teller) ofTaint(n *node, taint *v1.Taint, op string) string {
	switch {
	case t == nil || taint.Key != v1.TaintNodeNotReady && taint.Key != v1.TaintNodeUnreachable:
		return ""
	case op == timeline.OpAdd:
		return t.ofNode(n.Name)
	}
	ready := placement.FindCondition(n.Conditions, v1.NodeReady)
	if ready < 0 {
		return because("Ready is missing")
	}
	return because("Ready is " + string(n.Conditions[ready].Status))
}

// ofEviction returns why a pod is evicted.
func (t *teller) ofEviction(pod evictor.PodKey, d taints.Deadline) string {
	switch {
	case t == nil:
		return ""
	case t.condemned.Name != "" && t.condemned != pod: // whose node may have no taint
		return because("goes with pod " + joinPodName(t.condemned.Namespace, t.condemned.Name))
	case d.Taint == nil: // a failed node is emptied
		return because("PodEvictionTimeout")
	case d.Taint.Key == "": // whoever evicts does not say
		return ""
	case d.For > 0:
		return because(fmt.Sprintf("tolerated %s:%s for %v", d.Taint.Key, d.Taint.Effect, d.For))
	}
	return because(fmt.Sprintf("does not tolerate %s:%s", d.Taint.Key, d.Taint.Effect))
}

// line collects the lines of one millisecond. flush writes them in order.
func (p *player) line(l timeline.Line) {
	p.report.note(l, p.seen)
	p.cluster.limits(&l)
	if p.scenario.Timeline == nil {
		return
	}
	if p.driven || len(p.pending) > 0 && timeline.Compare(timeline.Line{T: l.T}, timeline.Line{T: p.pending[0].T}) != 0 {
		p.flush()
	}
	p.pending = append(p.pending, l)
	if p.driven {
		p.flush()
	}
}

func (p *player) flush() {
	slices.SortStableFunc(p.pending, timeline.Compare)
	for _, l := range p.pending {
		if err := p.scenario.Timeline(l); err != nil && p.lineErr == nil {
			p.lineErr = fmt.Errorf("timeline: %w", err)
		}
	}
	p.pending = p.pending[:0]
}

func (p *player) observeNode(d *evictor.NodeDecision) {
	if !p.driven {
		p.teller.decided(d)
	}
	if l, ok := lineOf(d); ok {
		p.line(l)
	}
	switch at := d.Time.Sub(Epoch); d.Kind { // of pods of nodes that are emptied
	case nodelifecycle.PodDelayed:
		p.heldBack.holds(d.Pod, d.Reason, at)
	case nodelifecycle.PodEvicted, nodelifecycle.PodSpared:
		p.heldBack.ends(d.Pod, at)
	case nodelifecycle.NodeVerdict:
		if d.To == v1.ConditionTrue && !p.scenario.Config.Nodes.TaintBasedEviction { // nobody tells of each pod
			p.nobodyLeaves(d.Node, at)
		}
	default: // it is not about a pod
	}
	p.cluster.hinder(d, p.world.holds)
}

// nobodyLeaves notes that no eviction from a node is wanted any more.
func (p *player) nobodyLeaves(node string, at time.Duration) {
	p.heldBack.endsOn(node, at)
	if i, exists := p.cluster.nodeByID[node]; exists {
		for k := p.cluster.nodes[i].firstPod; k >= 0; k = p.cluster.pods[k].next {
			p.cluster.leavesNow(k)
		}
	}
}

func (p *player) observePod(d *evictor.PodDecision) {
	switch at := d.Time.Sub(Epoch); d.Kind {
	case tainteviction.EvictionDelayed:
		p.heldBack.holds(d.Pod, d.Reason, at)
	case tainteviction.PodEvicted, tainteviction.EvictionCancelled:
		p.heldBack.ends(d.Pod, at)
	default: // nothing is held back by it, and nothing is not any more
	}
	if d.Kind != tainteviction.EvictionCancelled {
		return
	}
	p.report.Cancelled[d.Reason]++
	p.cluster.notRefused(d.Pod.PodKey)
	l := timeline.Line{T: d.Time.Sub(Epoch), Kind: timeline.KindCancel, Node: d.Pod.Node, Pod: joinPodName(d.Pod.Namespace, d.Pod.Name)}
	if !p.driven {
		l.More = because(d.Reason)
	}
	p.line(l)
}

// tellOf reports what a part of the controllers' process does.
func (p *player) tellOf(part, text string) { p.tellTouched(timeline.Fields{"by": part, "text": text}) }
