package evictor_test

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// When the taints of a node end a pod's stay. Our two taints, not-ready and unreachable, are one outage: it began when the
// first of them came, and each swap between them is noted.

// livesSwap is which of our two NoExecute taints a node carries, and since when.
type livesSwap struct {
	keys            []string  // both only where nobody has seen which of them came last
	soonest, latest time.Time // when it came in place of the other, or the outage began: the earliest that the rules allow, and the latest
	old, moved      time.Time // soonest before the instant in which it last changed, and when that was
	were            []string  // keys before that instant
}

// knowSwap is told the taints of a node as it is shown now, which are not known yet but for when they began.
func (m *livesMind) knowSwap(known *livesNode, node *v1.Node, fresh map[string]livesTaint) {
	own, _ := livesNoExecute(node.Spec.Taints)
	was, now := known.swap, m.world.now
	before := slices.DeleteFunc(slices.Clone(livesOwn), func(key string) bool { _, there := known.taints[key]; return !there })
	came := slices.DeleteFunc(slices.Clone(own), func(key string) bool { return slices.Contains(before, key) })
	is := was
	switch began, late := livesOutage(own, fresh); {
	case len(own) == 0:
		is = livesSwap{}
	case known.object == nil: // "a controller wrote it" if Ready is Unknown
		is = livesSwap{keys: own, soonest: livesLater(m.came, began), latest: now}
		ready := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionUnknown })
		if ready >= 0 {
			at := m.elapsed(node.Status.Conditions[ready].LastTransitionTime.Time)
			if !at.After(now) && !at.Before(began) {
				is.soonest, is.latest = at, at
			}
		}
	case len(before) == 0:
		is = livesSwap{keys: own, soonest: began, latest: late}
	case len(came) > 0:
		is = livesSwap{keys: came, soonest: now, latest: now}
	case !slices.ContainsFunc(own, func(key string) bool { return slices.Contains(was.keys, key) }): // the one that came last is gone
		is = livesSwap{keys: own, soonest: now, latest: now}
	default:
		is.keys = slices.DeleteFunc(slices.Clone(was.keys), func(key string) bool { return !slices.Contains(own, key) })
		is.soonest, is.latest = livesLater(was.soonest, began), livesLater(was.latest, late)
	}
	if hidden := known.hiddenSwap; slices.Equal(hidden.keys, is.keys) && hidden.soonest.Before(is.soonest) { // not each half has looked at what was shown between
		is.soonest = hidden.soonest
	}
	if is.old, is.moved, is.were = was.old, was.moved, was.were; !is.soonest.Equal(was.soonest) || !slices.Equal(is.keys, was.keys) {
		if !was.moved.Equal(now) {
			is.old, is.were = was.soonest, was.keys
		} else if slices.Equal(is.keys, is.were) && len(is.keys) > 0 { // it came and went in one instant, and not each half has seen it
			is.soonest = is.old
		}
		is.moved = now
	}
	known.swap = is
}

// livesOutage is when the outage began that these taints of ours stand for, at the earliest and at the latest.
func livesOutage(own []string, taints map[string]livesTaint) (began, late time.Time) {
	for i, key := range own {
		taint := taints[key]
		if i == 0 || taint.start.Before(began) {
			began = taint.start
		}
		late = livesLater(late, taint.late)
	}
	return began, late
}

// orders says whether a taint ends pods' stays: without taints nobody of us writes our own, and what is left of them orders
// nothing. own says whether ours count; taint eviction alone takes them for any others.
func (w *livesWorld) orders(key string, own bool) bool {
	return !livesIsOwn(key) || w.plan.Half == livesTaintEviction || own && w.plan.Taints
}

// noExecute are the keys of the taints that we write NoExecute, and of those that we do not write at all.
func (w *livesWorld) noExecute(list []v1.Taint) (own, foreign []string) {
	if own, foreign = livesNoExecute(list); w.plan.Half == livesTaintEviction {
		return nil, append(foreign, own...)
	}
	return own, foreign
}

// deadline is when the taints shown end the pod's stay, at the earliest or at the latest; zero for never. The first
// toleration that matches a taint counts (taints.Tolerates), from the later of the taint's start and the pod's binding
// (decision 2).
func (m *livesMind) deadline(known *livesNode, pod livesPod, own, late bool) (end time.Time) {
	bound := pod.soonest
	if late {
		bound = pod.latest
	}
	for _, taint := range known.object.Spec.Taints {
		if taint.Effect != v1.TaintEffectNoExecute || livesIsOwn(taint.Key) {
			continue
		}
		start := known.taints[taint.Key].start
		if late {
			start = known.taints[taint.Key].late
		}
		if stay, forEver := livesTolerated(pod, taint); !forEver {
			end = livesSooner(end, livesLater(start, bound).Add(stay))
		}
	}
	if m.world.orders(livesOwn[0], own) && len(known.swap.keys) > 0 {
		end = livesSooner(end, m.outageEnds(known, pod, bound, late))
	}
	return end
}

// outageEnds: a pod leaves when its current toleration has run since the last swap, or when the longer of both has run
// since the outage began, whichever is first.
func (m *livesMind) outageEnds(known *livesNode, pod livesPod, bound time.Time, late bool) (end time.Time) {
	all, _ := livesNoExecute(known.object.Spec.Taints)
	start, last := livesOutage(all, known.taints)
	swapped := known.swap.soonest
	if late {
		start, swapped = last, known.swap.latest
	} else if known.swap.moved.Equal(m.world.now) && !known.swap.old.IsZero() && known.swap.old.Before(swapped) {
		swapped = known.swap.old // not each half has seen what was before
	}
	keys := known.swap.keys
	if !late { // while both are there, both order
		keys = all
	}
	for _, key := range keys {
		current, always := livesTolerated(pod, v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute})
		other, otherAlways := livesTolerated(pod, v1.Taint{Key: livesOwn[1-slices.Index(livesOwn, key)], Effect: v1.TaintEffectNoExecute})
		if always {
			if late { // it may be this one
				return time.Time{}
			}
			continue
		}
		since := swapped
		if !slices.Contains(known.swap.keys, key) {
			since = start
		}
		ends := livesLater(since, bound).Add(current)
		if !otherAlways {
			ends = livesSooner(ends, livesLater(start, bound).Add(max(current, other)))
		}
		if late {
			end = livesLater(end, ends)
		} else {
			end = livesSooner(end, ends)
		}
	}
	return end
}

// livesTolerated is for how long a pod tolerates a taint: not at all is 0.
func livesTolerated(pod livesPod, taint v1.Taint) (stay time.Duration, forEver bool) {
	use := slices.IndexFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
		return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) && (t.Operator == v1.TolerationOpExists || t.Value == taint.Value)
	})
	switch {
	case use < 0:
		return 0, false
	case pod.Spec.Tolerations[use].TolerationSeconds == nil:
		return 0, true
	}
	return max(0, time.Duration(*pod.Spec.Tolerations[use].TolerationSeconds)*time.Second), false
}

// livesSooner is the earlier one, where zero is never.
func livesSooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
