package evictor_test

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/zone"
)

// Budgets: those that lives have, and the model of what they refuse surely, and what perhaps. It counts what a process was shown and
// has written, as the documentation of package budget and of Options.Budget says, and asks no budget.

// livesGroup is a bound in one of its groups, and livesBegun when a node of it was acted on first and last, as far as is known.
type (
	livesGroup struct {
		bound *budget.Bound
		name  string
	}
	livesBegun struct {
		node        string
		first, last time.Time
	}
)

// livesAllowed is what the model knows of a node's action.
type livesAllowed struct {
	acts    time.Time       // since when it is acted on
	bared   time.Time       // when it lost our taints last
	unsure  bool            // without taints: it may have had its turn, or given it back since an eviction failed
	pending [2]zone.Pending // what becomes of its evictions as of the last pass, at least and at most
	since   [3]time.Time    // since when at least that
	free    time.Time       // since when nothing may hold it back
	left    time.Time       // since then, when the first pod left because of it
	lost    time.Duration   // of its silence, at most: "when a clock without monotonic readings is set back, no time passes" (doc.go)
}

// livesBudgets is what the model knows of a process's budget.
type livesBudgets struct {
	begun    map[livesGroup][]livesBegun
	shut     map[livesGroup]livesShut
	asked    bool                     // breakers look from then on
	failures map[livesGroup]time.Time // of trials: the last one that is sure
	ours     bool                     // the eviction that is about to be made is by our own taints, or empties the node
}

// livesShut is a breaker: when it was exceeded last, and when surely or perhaps not calm.
type livesShut struct{ exceeded, surely, perhaps time.Time }

// in is the group of a bound that a node is in.
func (m *livesMind) in(bound *budget.Bound, known *livesNode) (livesGroup, bool) {
	switch rack := known.object.Labels[livesRack]; bound.Per {
	case "zone":
		return livesGroup{bound, m.world.plan.domain(known.object)}, true
	case "rack":
		return livesGroup{bound, rack}, rack != "z0"
	}
	return livesGroup{bound, ""}, true
}

// unheard is how long nobody will listen: row "a gap between two passes adds at most one period to a node's silence".
// In exact mode it adds nothing.
func (m *livesMind) unheard() time.Duration {
	if !m.world.plan.Exact {
		return 0
	}
	return max(0, m.process.frozen.Sub(m.world.now))
}

// idle: without taints, a node's turn had nothing to do.
func (m *livesMind) idle(known *livesNode) bool {
	empty := !m.world.plan.Taints && !known.due.IsZero()
	for _, pod := range m.process.seenPods {
		empty = empty && (pod.Spec.NodeName != known.object.Name || livesSpared(pod) || livesDaemon(pod) || pod.DeletionTimestamp != nil)
	}
	return empty
}

// acting says whether a node counts as acted on. What is not shown yet counts for a grace.
func (m *livesMind) acting(known *livesNode) (surely, perhaps bool) {
	now, shown := m.world.now, known.carries(m.world)
	surely = !known.acts.IsZero() && known.acts.Before(now) && !known.unsure && (shown || known.emptied || m.world.plan.Taints && now.Sub(known.acts) < m.grace())
	return surely, surely || !known.acts.IsZero() || shown || m.idle(known) || known.unsure
}

func (n *livesNode) carries(w *livesWorld) bool {
	return slices.ContainsFunc(livesOwn, func(key string) bool {
		_, carries := n.taints[key]
		return carries && w.ours(key)
	})
}

// over says whether more is counted in a group than the bound's limits allow, next included if that is to be acted on.
func (m *livesMind) over(in livesGroup, next *livesNode) (surely, perhaps bool) {
	var total, bad, out, used [2]int64 // at least and at most
	add := func(sum *[2]int64, surely, perhaps bool) {
		if perhaps = surely || perhaps; perhaps {
			sum[1]++
		}
		if surely {
			sum[0]++
		}
	}
	for _, known := range m.nodes {
		if group, is := m.in(in.bound, known); !is || group.name != in.name {
			continue
		}
		acts, may := m.acting(known)
		acts = acts || known == next
		fails, good := known.verdict == v1.ConditionFalse || known.verdict == v1.ConditionUnknown, known.verdict == v1.ConditionTrue && !m.isSilent(known)
		if in.bound.Of == budget.Acting {
			add(&used, acts, may)
		}
		if !m.excluded(known) {
			add(&total, known.verdict != "", true)
			add(&bad, fails, !good)
			add(&out, fails || acts, !good || may)
		}
	}
	switch in.bound.Of {
	case budget.Recent:
		return m.begunIn(in, next, total)
	case budget.Unproven:
		return m.trial(in, next, total)
	case budget.Bad:
		used = bad
	case budget.Unavailable:
		used = out
	case budget.Healthy:
		used = [2]int64{total[0] - out[1], total[1] - out[0]}
	}
	most, least := in.bound.Max, in.bound.Min
	return most.IsSet() && used[0] > most.Of(total[1]) || least.IsSet() && used[1] < least.Of(total[0]),
		most.IsSet() && used[1] > most.Of(total[0]) || least.IsSet() && used[0] < least.Of(total[1])
}

// bound says whether a bound refuses a node, or is exceeded without one more.
func (m *livesMind) bound(in livesGroup, next *livesNode) (surely, perhaps bool) {
	shut := m.shut[in]
	surely, perhaps = m.over(in, next)
	surely = surely || !shut.exceeded.IsZero() && m.world.now.Sub(shut.surely) < in.bound.Quiet-m.world.slack
	return surely, perhaps || surely || m.world.now.Sub(shut.perhaps) < in.bound.Quiet+m.world.slack
}

// refused says whether a node must not be acted on now.
func (m *livesMind) refused(known *livesNode) (surely, perhaps bool) {
	for i := range m.world.plan.Bounds {
		if group, in := m.in(&m.world.plan.Bounds[i], known); in {
			no, may := m.bound(group, known)
			surely, perhaps = surely || no, perhaps || may
		}
	}
	return surely, perhaps
}

// exceeded is what becomes of evictions on a node that is acted on, at least and at most: what the first bound says that is exceeded.
func (m *livesMind) exceeded(known *livesNode) (pending [2]zone.Pending) {
	if m.world.plan.Exceeded == nil {
		return pending
	}
	pending[0] = zone.Cancel
	for i := range m.world.plan.Bounds {
		group, in := m.in(&m.world.plan.Bounds[i], known)
		if !in {
			continue
		}
		surely, perhaps := m.bound(group, nil)
		if says := m.world.plan.pending(i); perhaps {
			pending = [2]zone.Pending{min(pending[0], says), max(pending[1], says)}
		}
		if surely {
			return pending
		}
	}
	return [2]zone.Pending{zone.GoOn, pending[1]}
}

// budgets is told after each pass.
func (m *livesMind) budgets() {
	m.alarms()
	now, calm := m.world.now, true
	for _, known := range m.nodes {
		known.unsure = known.unsure && known.verdict != v1.ConditionTrue
		calm = calm && known.verdict == v1.ConditionTrue && known.acts.IsZero() && known.since == [3]time.Time{}
	}
	if calm || m.world.plan.Bounds == nil {
		return
	}
	for i := range m.world.plan.Bounds {
		bound := &m.world.plan.Bounds[i]
		for _, known := range m.nodes {
			if group, in := m.in(bound, known); in && bound.Quiet > 0 && bound.Of != budget.Unproven {
				m.breaks(group)
			}
		}
	}
	for name, known := range m.nodes {
		acts, perhaps := m.acting(known)
		if known.pending = m.exceeded(known); !perhaps {
			known.pending[1] = zone.GoOn
		}
		if !acts {
			known.pending[0] = zone.GoOn
		}
		_, refused := m.refused(known)
		if known.free = cmp.Or(known.free, now); known.pending[1] != zone.GoOn || refused && !acts {
			known.free = time.Time{}
		}
		for p := zone.Wait; p <= zone.Cancel; p++ {
			if known.since[p] = cmp.Or(known.since[p], now); known.pending[0] < p {
				known.since[p] = time.Time{}
			}
		}
		if known.pending[0] != zone.GoOn {
			m.closed["budget of "+name] = [2]time.Time{known.since[zone.Wait], now}
		}
		if known.pending[1] == zone.Cancel && !m.world.plan.Taints {
			known.emptied, known.unsure = known.emptied && known.pending[0] != zone.Cancel, true
		}
	}
}

// breaks has a breaker see a group.
func (m *livesMind) breaks(in livesGroup) {
	shut, now := m.shut[in], m.world.now
	surely, perhaps := m.over(in, nil)
	if now.Sub(shut.surely) >= in.bound.Quiet { // it has opened, perhaps while all was calm and nobody looked
		shut.exceeded = time.Time{}
	}
	if surely && m.asked {
		shut.exceeded = now
	}
	if surely && !shut.exceeded.IsZero() {
		shut.surely = now
	}
	if perhaps {
		shut.perhaps = now
	}
	m.shut[in] = shut
}

// waits says whether a bound holds evictions back, as every pass for some time has found.
func (m *livesMind) waits(known *livesNode) bool {
	since := known.since[zone.Wait]
	return !since.IsZero() && m.world.now.Sub(since) > max(m.world.config.NodeMonitorPeriod, time.Second)+m.world.slack
}

// allowed: nothing may have held the node back for long.
func (m *livesMind) allowed(known *livesNode) bool {
	return m.world.plan.Bounds == nil || !known.free.IsZero() && m.world.now.Sub(known.free) > livesQuiet/2
}

// refuses says whether a bound surely refuses a turn that comes now. What happens amid a write comes after the turns of its instant.
func (m *livesMind) refuses(known *livesNode) bool {
	surely, _ := m.refused(known)
	return surely && !m.world.midst.Equal(m.world.now)
}
