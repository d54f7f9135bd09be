package nodelifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
)

// plan is what to write to a node now.
type plan struct {
	conditions []v1.NodeCondition
	change     taints.Change
	labels     map[string]string
	lift       bool // a NoExecute taint of ours goes, or the change only removes
	held       bool // what does harm was left out
}

func (p *plan) nothing() bool {
	return len(p.conditions) == 0 && p.change.Empty() && len(p.labels) == 0
}

// withhold leaves out what does harm: of our NoExecute taints, none comes, and the one that would be swapped stays.
func (p *plan) withhold() {
	if !p.harms() {
		return
	}
	harmless := func(t *v1.Taint) bool { return !taints.OwnNoExecute(t) }
	p.change, p.held = taints.Change{Add: those(p.change.Add, harmless), Remove: those(p.change.Remove, harmless)}, true
}

// harms says whether the change adds a NoExecute taint of ours.
func (p *plan) harms() bool {
	return slices.ContainsFunc(p.change.Add, isOwn)
}

// planWrites compares the node with what it should be. It is cheap if nothing differs. What protects others does not depend
// on whether the node may be harmed: its conditions, and the NoSchedule taints that follow from them. written are conditions
// that were just written, and that the object need not show yet. lift plans for a worker that lifts, so that nothing can delay
// that: it writes no conditions, and its NoSchedule taints follow from those that are written. The rest is for the others.
func (e *engine) planWrites(n *node, object *v1.Node, written []v1.NodeCondition, lift bool) (p plan) {
	if !lift {
		p.labels = staleLabels(object.Labels)
	}
	if !lift && n.status != upToDate && n.unread == nil {
		p.conditions = health.UnknownConditions(object, e.mu.Shown(e.mu.Now))
	}
	have := object.Spec.Taints
	want := taints.ForConditions(overlay(overlay(object.Status.Conditions, written), p.conditions), object.Spec.Unschedulable)
	has := slices.ContainsFunc(have, isOwn)
	switch taint, keep := e.execute(n, has); {
	case keep && has:
		want = keepUnready(append(want, those(have, taints.OwnNoExecute)...), have)
	case taint.Key != "":
		taint.TimeAdded = n.taints.Outage(have, e.mu.Lead)
		want = keepUnready(append(want, taint), have)
	case has:
		p.lift = true
	}
	p.change = taints.Diff(have, want, func(t *v1.Taint) bool { return taints.OwnNoSchedule(t) || taints.OwnNoExecute(t) })
	if e.around.Permits.Last(gate.Harm, n.domain) != nil || n.belongs != n.domain {
		p.withhold()
	}
	if p.lift = p.lift || len(p.change.Add) == 0 && len(p.change.Remove) > 0; p.lift != lift {
		p.change = taints.Change{}
	}
	return p
}

// execute returns the NoExecute taint that the verdict asks for, if the node may have it: it has one already, or its turn.
// keep means that existing taints stay as they are.
func (e *engine) execute(n *node, has bool) (taint v1.Taint, keep bool) {
	switch s := e.standing(n); {
	case !e.cfg.TaintBasedEviction:
		return taint, s != ready
	case s == unjudged || s == noCondition || s > heldBack && n.unread != nil:
		return taint, true
	case has && (n.reported() || n.heard) && s >= settling: // the next pass says what it is now
		return taint, true
	case has && s >= settling, s == harmable && n.turn != nil:
		taint, _ = taints.ForReady(n.verdict.Ready)
	}
	return taint, false
}

// keepUnready keeps the NoSchedule taint of an unready node for as long as its NoExecute taint stays, so that both are
// lifted in one write.
func keepUnready(want, have []v1.Taint) []v1.Taint {
	unready := func(t *v1.Taint) bool {
		return (t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable) && t.Effect == v1.TaintEffectNoSchedule
	}
	if len(those(want, unready)) > 0 {
		return want
	}
	return append(want, those(have, unready)...)
}

// staleLabels returns the deprecated labels that differ from the stable ones, with the values of the stable ones.
func staleLabels(labels map[string]string) (stale map[string]string) {
	for _, pair := range [...][2]string{{v1.LabelOSStable, "beta.kubernetes.io/os"}, {v1.LabelArchStable, "beta.kubernetes.io/arch"}} {
		value, ok := labels[pair[0]]
		if old, there := labels[pair[1]]; !ok || there && old == value {
			continue
		}
		if stale == nil {
			stale = make(map[string]string, 2)
		}
		stale[pair[1]] = value
	}
	return stale
}

func overlay(conditions, changed []v1.NodeCondition) []v1.NodeCondition {
	if len(changed) == 0 {
		return conditions
	}
	merged := slices.Clone(conditions)
	for _, c := range changed {
		if i := slices.IndexFunc(merged, func(m v1.NodeCondition) bool { return m.Type == c.Type }); i >= 0 {
			merged[i] = c
		} else {
			merged = append(merged, c)
		}
	}
	return merged
}

func isOwn(t v1.Taint) bool { return taints.OwnNoExecute(&t) }

func those(list []v1.Taint, is func(*v1.Taint) bool) (some []v1.Taint) {
	for i := range list {
		if is(&list[i]) {
			some = append(some, list[i])
		}
	}
	return some
}
