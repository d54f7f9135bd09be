package nodelifecycle

import (
	"cmp"
	"time"

	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// enqueue puts a failed node into its zone's queue.
func (e *engine) enqueue(n *node) {
	if st, ok := e.zones.Zone(n.domain); ok && st.State == zone.Initial {
		_ = e.turns.SetRate(n.domain, rate.Limit(st.Rate))
	}
	entry := ratelimitqueue.Entry[turnKey, struct{}]{Key: n.turnKey(false), OnDuplicate: ratelimitqueue.KeepFirst}
	if e.turns.AddEntry(n.domain, entry) == ratelimitqueue.Unknown {
		e.queued(n)
	}
}

func (e *engine) queued(n *node) {
	st, _ := e.zones.Zone(n.domain)
	e.decide(Decision{Kind: NodeQueued, Node: n.name, Zone: n.domain, State: st.State, Rate: st.Rate, Counts: st.Counts})
}

// dequeue takes the node out of its zone's queue, and voids its turn. It needs no permission.
func (e *engine) dequeue(n *node, reason string) {
	n.refused, n.held = nil, nil
	if e.turns.Remove(n.turnKey(false)) == ratelimitqueue.Waiting {
		e.decide(Decision{Kind: NodeDequeued, Node: n.name, Zone: n.domain, Reason: reason})
	}
}

// release has a node wait in its zone to release its overdue pods, once harm is permitted there: before the nodes that wait to be
// tainted, or among them if it was released since and its pods were refused once more.
func (e *engine) release(n *node) {
	if n.overdue && !n.early && e.around.Permits.Last(gate.Harm, n.domain) == nil {
		if e.turns.AddEntry(n.domain, ratelimitqueue.Entry[turnKey, struct{}]{Key: n.turnKey(true), Exempt: !n.released}) == ratelimitqueue.Unknown {
			e.around.Inbox.Kick() // Run hands it out
		}
	}
}

func (e *engine) notOverdue(n *node) {
	n.overdue, n.released = false, false
	e.turns.Remove(n.turnKey(true))
}

// move has the node wait in the domain to which it belongs.
func (e *engine) move(n *node) {
	n.domain = n.belongs
	e.turns.Move(n.turnKey(false), n.domain)
	e.turns.Move(n.turnKey(true), n.domain)
}

// ending is how a turn ends.
type ending string

const (
	done    ending = "Served"
	dropped ending = "Dropped" // there was nothing left to do
	spent   ending = "Spent"   // nothing was done: the node waits for another
	undone  ending = "Undone"  // after Served: the store, newer than the write, does not show it
)

// over says that a node does not wait for another turn.
const over = time.Duration(-1)

// endTurn ends the node's turn, if it has one. Unless it is over, the node waits again, at least for that long, and for
// another token. If nobody knows what was done, the turn is not over: the node waits to try again, with the same permission.
func (e *engine) endTurn(n *node, how ending, after time.Duration) {
	if after == over {
		e.end(n, how, turn.Forget)
	} else {
		e.end(n, how, func(item turn) { item.RetryAfter(after) })
	}
}

// endTurnUnused ends a turn in which nothing was sent: the node waits again for that long, and the token is for another one.
func (e *engine) endTurnUnused(n *node, after time.Duration) {
	e.end(n, spent, func(item turn) { item.Blocked(after) })
}

func (e *engine) end(n *node, how ending, end func(turn)) {
	if n.turn == nil {
		return
	}
	end(*n.turn)
	e.attention[n.name] = n
	n.turn = nil
	e.turnsOut--
	if how == done && n.lost() {
		n.unshown = nil
	}
	if !n.lost() {
		e.turnOver(n, how)
	}
	e.around.Inbox.Kick() // a turn is free: Run hands out the next
}

func (e *engine) turnOver(n *node, how ending) {
	e.decide(Decision{Kind: TurnEnded, Node: n.name, NodeUID: n.uid, Zone: n.domain, Reason: string(how)})
	if _, st, _ := e.turns.Get(n.turnKey(false)); how == done && st.State == ratelimitqueue.Waiting {
		e.queued(n) // for what is left of its pods
	}
}

// free says whether another turn may be out.
func (e *engine) free() bool {
	most := e.around.MostTurns.Load()
	return most == 0 || e.turnsOut < int(most)
}

// unshownSince begins to wait for the store. What was certainly written is in each version that comes after the one to which
// it was sent. What may have been written need not come with another version.
func (e *engine) unshownSince(certain bool, version string) *unshown {
	u := &unshown{certain: certain, version: version}
	if !certain || version == "" {
		u.until = e.heard() + e.cfg.NodeMonitorGracePeriod
	}
	return u
}

// resolve says what became of what the store did not show, once it is known: the store shows it, or has not shown it for one
// grace period in which we listened. version is that of the node's object, if it was just read.
func (e *engine) resolve(n *node, version string) {
	u, left := n.unshown, e.podsLeft(n)
	if left && n.emptied {
		e.dequeue(n, standings[served])
	}
	if u == nil {
		return
	}
	if u.until == 0 && version != "" && version != u.version {
		u.until = e.heard() + e.cfg.NodeMonitorGracePeriod
	}
	how := done
	switch {
	case n.tainted || left:
	case u.until == 0 || e.heard() < u.until:
		return
	case u.certain:
		how = undone
	case e.standing(n).wanted():
		how = spent
	default:
		how = dropped
	}
	n.unshown = nil
	e.attention[n.name] = n
	if n.turn != nil || u.certain && how == done { // what is being tried decides, or it was told
		return
	}
	if n.tainted {
		e.dequeue(n, standings[served])
	}
	e.turnOver(n, how)
}

// podsLeft says whether the store shows that a deletion was done of which nobody knew. If it was the last, the node is emptied.
func (e *engine) podsLeft(n *node) (left bool) {
	for ref, how := range n.leaving {
		if pod, _ := e.clients.Pods.Pod(ref.PodKey); how.lost && (!ref.Shows(pod) || pod.DeletionTimestamp != nil) {
			left, n.begun = true, true
			delete(n.leaving, ref)
		}
	}
	if left && len(n.leaving) == 0 && n.turn == nil {
		n.emptied = true
		e.decide(Decision{Kind: NodeEmptied, Node: n.name, NodeUID: n.uid})
	}
	return left
}

// heard is for how long we have listened until now: not while we could not see, nor for longer than the gap of one that runs.
func (e *engine) heard() time.Duration {
	if e.blind || e.counted.IsZero() {
		return e.listened
	}
	return e.listened + min(e.mu.Now.Sub(e.counted), e.gap())
}

func (e *engine) count() { e.listened, e.counted = e.heard(), e.mu.Now }

// absent is the time for which we did not run before this Plan, if it was longer than the gap of one that runs.
func (e *engine) absent() (gap time.Duration) {
	if gap = e.mu.Now.Sub(e.planned); gap <= e.gap() || e.planned.IsZero() {
		gap = 0
	}
	e.planned = e.mu.Now
	return gap
}

// gap is the longest time between two calls of an evictor that runs.
func (e *engine) gap() time.Duration {
	return max(cmp.Or(e.cfg.MaxGap, e.cfg.NodeMonitorGracePeriod/4), e.cfg.NodeMonitorPeriod*6/5)
}
