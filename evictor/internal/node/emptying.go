package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Marks is the marking of a node's pods as not Ready.
type Marks struct {
	Due  bool // some may be left
	done map[types.UID]struct{}
}

// Has says whether the pod was marked.
func (m *Marks) Has(pod types.UID) bool {
	_, done := m.done[pod]
	return done
}

// Ask is told of a pod that should be marked, and says whether it makes the marking due anew.
func (m *Marks) Ask(pod types.UID) bool {
	if m.Due || m.Has(pod) {
		return false
	}
	m.Due = true
	return true
}

// Done is told that the pod was marked, unless that is not wanted any more.
func (m *Marks) Done(pod types.UID) {
	if m.Due {
		note(&m.done, pod)
	}
}

// emptying is what became of the pods of a node that is emptied.
type emptying struct {
	settled map[types.UID]struct{} // evicted, or spared
	refused map[types.UID]Refusal
	until   time.Time // when the first that was refused may be asked for again; only of one that was emptied, zero when none was
}

// Refusal is how often in a row the API server refused an eviction, and until when it is not asked again.
type Refusal struct {
	Times int
	Until time.Time
}

// toEmpty is where the emptying of the node is noted, nil when it has recovered meanwhile.
func (r *Record) toEmpty() *emptying {
	if r.emptying == nil && r.stage >= Watched {
		r.emptying = &emptying{}
	}
	return r.emptying
}

// Left says whether the pod was evicted or spared in this outage.
func (r *Record) Left(pod types.UID) (left bool) {
	if r.emptying != nil {
		_, left = r.emptying.settled[pod]
	}
	return left
}

// Leaves is told that the pod was evicted or is spared.
func (r *Record) Leaves(pod types.UID) {
	if e := r.toEmpty(); e != nil {
		delete(e.refused, pod)
		note(&e.settled, pod)
	}
}

// Refused is the last refusal to evict the pod, in a row.
func (r *Record) Refused(pod types.UID) (last Refusal) {
	if r.emptying != nil {
		last = r.emptying.refused[pod]
	}
	return last
}

// Refuse is told that an eviction was refused.
func (r *Record) Refuse(pod types.UID, refusal Refusal) {
	e := r.toEmpty()
	if e == nil {
		return
	}
	if e.refused == nil {
		e.refused = make(map[types.UID]Refusal)
	}
	e.refused[pod] = refusal
}

// BecomeServed is told that of the pods of a failed node none is left but those whose eviction was refused. It says whether that is
// new in this outage, and whether there was none.
func (r *Record) BecomeServed() (first, nobody bool) {
	first = !r.Emptied()
	r.stage = Served
	e := r.toEmpty()
	e.until = time.Time{}
	for _, refusal := range e.refused {
		if e.until.IsZero() || refusal.Until.Before(e.until) {
			e.until = refusal.Until
		}
	}
	return first, len(e.settled) == 0 && len(e.refused) == 0
}

// HeldBack is how long those that are left of an emptied node are not to be asked for, 0 when there are none.
func (r *Record) HeldBack(now time.Time) time.Duration {
	if !r.Emptied() {
		return 0
	}
	return max(0, r.emptying.until.Sub(now))
}

func note(set *map[types.UID]struct{}, pod types.UID) {
	if *set == nil {
		*set = make(map[types.UID]struct{})
	}
	(*set)[pod] = struct{}{}
}
