package differential

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// tolerant is a pod as the scenario makes it, and for how long it is there if nobody evicts it.
type tolerant struct {
	span
	name, node  string
	daemon      bool // of a DaemonSet
	tolerations []v1.Toleration
}

// everything is what pods of DaemonSets tolerate.
var everything = []v1.Toleration{{Operator: v1.TolerationOpExists}}

// tolerants are the pods about which the scenario says everything, and that may be evicted.
func (e *explainer) tolerants() []tolerant {
	if e.pods == nil {
		e.pods = e.made()
	}
	return e.pods
}

func (e *explainer) made() (all []tolerant) {
	add := func(name, node string, at time.Duration, tolerations []v1.Toleration) {
		all = append(all, tolerant{span: span{at, e.settings.Until}, name: name, node: node, tolerations: tolerations})
	}
	of := func(node string, pods int, at time.Duration, seconds *simulation.TolerationSeconds) {
		for j := range pods {
			add(fmt.Sprintf("%s-p%d", node, j), node, at, admitted(seconds))
		}
	}
	for i := range e.Case.Scenario.Cluster.Zones {
		z := &e.Case.Scenario.Cluster.Zones[i]
		for k := range z.Nodes {
			of(z.NodeName(k), z.PodsPerNode, 0, z.TolerationSeconds)
			for j := range z.DaemonSetPodsPerNode {
				add(fmt.Sprintf("%s-ds%d", z.NodeName(k), j), z.NodeName(k), 0, everything)
				all[len(all)-1].daemon = true
			}
		}
	}
	for _, p := range e.Case.Pods {
		add(p.Name, p.Spec.NodeName, 0, p.Spec.Tolerations)
	}
	for _, event := range e.Case.Scenario.Events {
		if p := event.AddPod; p != nil {
			add(p.Name, p.Node, event.At, admitted(p.TolerationSeconds))
		}
		if n := event.AddNode; n != nil {
			of(n.Name, n.PodsPerNode, event.At, n.TolerationSeconds)
		}
	}
	for i := range all {
		p := &all[i]
		if at, deleted := e.deleted[p.name]; deleted {
			p.to = min(p.to, at)
		}
		if at, gone := e.removed[p.node]; gone {
			p.to = min(p.to, at)
		}
	}
	return slices.DeleteFunc(all, func(p tolerant) bool { return e.spared[p.name] })
}

// admitted are the tolerations of a pod that is made with those seconds.
func admitted(s *simulation.TolerationSeconds) (tolerations []v1.Toleration) {
	lasts := int64(300)
	if s != nil {
		lasts = int64(*s)
	}
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if s == nil || *s != simulation.NoToleration {
			tolerations = append(tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &lasts})
		}
	}
	return tolerations
}

// stay is how long the first toleration that matches the taint lasts; not at all if none does.
func stay(tolerations []v1.Toleration, key, value string) time.Duration {
	for i := range tolerations {
		t := &tolerations[i]
		switch {
		case t.Effect != "" && t.Effect != v1.TaintEffectNoExecute, t.Key != "" && t.Key != key:
		case t.Operator != v1.TolerationOpExists && t.Value != value:
		case t.TolerationSeconds == nil:
			return forever
		default:
			return time.Duration(max(0, *t.TolerationSeconds)) * time.Second
		}
	}
	return 0
}

var other = map[string]string{v1.TaintNodeNotReady: v1.TaintNodeUnreachable, v1.TaintNodeUnreachable: v1.TaintNodeNotReady}

// due is when the pod is to leave while the node has these taints, at the earliest and at the latest: by ours, or by others.
func (p *tolerant) due(taints []carried, ours bool) (earliest, latest time.Duration) {
	earliest, latest = forever, forever
	for _, t := range taints {
		swaps, own := other[t.key]
		lasts := stay(p.tolerations, t.key, t.value)
		if own != ours || lasts == forever {
			continue
		}
		first, last := max(t.since, p.from)+lasts, max(t.latest, p.from)+lasts
		if longer := stay(p.tolerations, swaps, ""); own && lasts > 0 && longer != forever {
			by := max(t.outage, p.from) + max(lasts, longer)
			first, last = min(first, by), min(last, by)
		}
		earliest, latest = min(earliest, first), min(latest, last)
	}
	return earliest, latest
}

// tolerantOf returns the pod of a line.
func (e *explainer) tolerantOf(l *timeline.Line) (p tolerant, known bool) {
	pods := e.tolerants()
	i := slices.IndexFunc(pods, func(p tolerant) bool { return p.name == l.Pod && p.node == l.Node })
	if i < 0 {
		return p, false
	}
	return pods[i], true
}

// swapped says whether the node's taint was swapped, for a pod that tolerates the two for different times.
func (e *explainer) swapped(l *timeline.Line) bool {
	p, known := e.tolerantOf(l)
	differ := known && stay(p.tolerations, v1.TaintNodeNotReady, "") != stay(p.tolerations, v1.TaintNodeUnreachable, "")
	return differ && slices.ContainsFunc(e.carriedBy(l.Node), func(h held) bool {
		return h.from <= l.T+slack && slices.ContainsFunc(h.taints, func(t carried) bool { return t.outage < t.since })
	})
}

// keeps says whether upstream evicts by a taint that has gone while another is there: it never moves an eviction back.
func (e *explainer) keeps(l *timeline.Line) bool {
	p, known := e.tolerantOf(l)
	if !known || !carries(e.theirs, l.Node, l.T) && !e.hasForeign(l.Node, l.T) {
		return false
	}
	foreign := func(c change) bool { return c.adds && !c.own && c.at < l.T && p.leaves(l.T, c.at, c.key, c.value) }
	return e.theirs.follows(p, l.T) || slices.ContainsFunc(e.changes(l.Node), foreign)
}

// leaves says whether the pod leaves then if it tolerates a taint that came at that time.
func (p *tolerant) leaves(at, tainted time.Duration, key, value string) bool {
	return (max(tainted, p.from) + stay(p.tolerations, key, value) - at).Abs() <= 2*tick
}

// follows says whether the pod's eviction at that time follows from an own taint that its node had before.
func (x index) follows(p tolerant, at time.Duration) bool {
	return x.wrote(about{kind: timeline.KindTaint, node: p.node}, 0, at, func(l *timeline.Line) bool {
		return ownNoExecute(*l) && l.Op == timeline.OpAdd && p.leaves(at, l.T, l.Key, "")
	})
}

// outlives says whether the pod tolerates each own taint that came to its node for longer than it is there.
func (x index) outlives(p tolerant) bool {
	return !x.wrote(about{kind: timeline.KindTaint, node: p.node}, 0, p.to, func(l *timeline.Line) bool {
		return ownNoExecute(*l) && l.Op == timeline.OpAdd && max(l.T, p.from)+stay(p.tolerations, l.Key, "") < p.to
	})
}

// misjudged returns the evictions that do not follow from what the node carries and the pod tolerates, to the instant, and those
// that follow and do not come. It knows nothing of what upstream does.
func (e *explainer) misjudged() (lines []timeline.Line) {
	carries := map[string][]held{}
	for _, p := range e.tolerants() {
		if _, known := carries[p.node]; !known {
			carries[p.node] = e.carriedBy(p.node)
		}
		lines = append(lines, e.misjudge(p, carries[p.node])...)
	}
	return lines
}

func (e *explainer) misjudge(p tolerant, carries []held) (lines []timeline.Line) {
	at := forever
	if l := e.ours[about{kind: timeline.KindEvict, node: p.node, pod: p.name}]; len(l) > 0 {
		at = l[0].T
	}
	allowed := at == forever
	for _, h := range carries {
		if e.started(h.from) > p.from { // it read when the pod was bound
			p.from = p.from.Truncate(time.Second)
		}
		ours, oursLatest := p.due(h.taints, true)
		others, othersLatest := p.due(h.taints, false)
		if during := at >= h.from-slack && at <= after(h.to, slack); during && at >= min(ours, others)-slack {
			allowed = allowed || at >= others-slack || !e.early(p.node, at)
		}
		byOurs := max(e.latest(p.node, ours, true), e.latest(p.node, oursLatest, true)) // what was due before a restart may leave later
		byOthers := e.latest(p.node, othersLatest, false)
		by := max(h.from, min(byOurs, byOthers))
		if max(oursLatest, othersLatest) < by && e.outage(min(oursLatest, othersLatest), by) { // it failed for one, and waits
			by = max(byOurs, byOthers)
		}
		if by < min(h.to, p.to, at)-slack && p.from < h.to {
			lines = append(lines, timeline.Line{T: by, Kind: timeline.KindEvict, Node: p.node, Pod: p.name, More: `,"judged":"due"`})
			break
		}
	}
	if !allowed {
		lines = append(lines, timeline.Line{T: at, Kind: timeline.KindEvict, Node: p.node, Pod: p.name, More: `,"judged":"not due"`})
	}
	return lines
}
