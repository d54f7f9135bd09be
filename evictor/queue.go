package evictor

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// queue returns the zone's queue, made on demand; e.mu is held. A zone that was empty for less than
// one token's time gets its old queue back, so that leaving and coming back earns no token.
func (e *Evictor) queue(key zone.Key) *nodeQueue {
	if q, ok := e.queues[key]; ok {
		return q
	}
	if old, ok := e.oldQueues[key]; ok {
		delete(e.oldQueues, key)
		if e.now.Before(old.until) {
			e.queues[key] = old.queue
			return old.queue
		}
	}
	policy := e.opts.Policy
	if policy == nil {
		policy = e.cfg.policy()
	}
	q, err := ratelimitqueue.New[queueKey, struct{}](ratelimitqueue.Config{
		Rate:  ratelimitqueue.Unlimited, // there is no token to keep: SetRate fills the bucket
		Burst: 1,
		Clock: e.clock,
	})
	if err != nil || q.SetRate(policy.Decide(zone.Situation{State: zone.Initial, Before: zone.Initial, Now: e.now}).Rate) != nil {
		_ = q.SetRate(0) // a policy of the user's gave no valid rate: nothing leaves
	}
	if e.gates.harm.err != nil {
		q.Pause("MayHarm")
	}
	e.queues[key] = q
	return q
}

// retireQueue keeps the queue of a zone without nodes for one token's time.
func (e *Evictor) retireQueue(key zone.Key, now time.Time) {
	q, ok := e.queues[key]
	if !ok {
		return
	}
	delete(e.queues, key)
	for k, old := range e.oldQueues {
		if !now.Before(old.until) {
			delete(e.oldQueues, k)
		}
	}
	if r := q.Rate(); r > 0 {
		e.oldQueues[key] = retiredQueue{queue: q, until: now.Add(time.Duration(float64(time.Second) / r))}
	}
}

// enqueue lets a failed node wait for its zone's rate; e.mu is held.
func (e *Evictor) enqueue(rec *record, now time.Time) {
	q := e.queue(rec.zone)
	if st, ok := e.zones.Zone(rec.zone); ok && st.State == zone.Initial {
		_ = q.SetRate(st.Rate) // a policy of the user's that knows no states: no change told of its first rate, if that was 0
	}
	key := queueKey{Node: rec.name}
	if st, ok := q.Get(key); ok && st.State == ratelimitqueue.StateKept {
		q.Remove(key) // handed out before, and its taint is not there: somebody removed it
	}
	switch q.AddEntry(ratelimitqueue.Entry[queueKey, struct{}]{Key: key, Due: now, Identity: string(rec.uid)}) {
	case ratelimitqueue.Added, ratelimitqueue.Replaced:
		st, _ := e.zones.Zone(rec.zone)
		e.decide(Decision{Time: now, Kind: NodeQueued, Node: rec.name, Zone: rec.zone, State: st.State, Rate: st.Rate, Counts: st.Counts})
	}
}

// dequeue forgets that the node waits, was tainted or emptied; e.mu is held. It needs no permission.
func (e *Evictor) dequeue(rec *record, reason string, now time.Time) {
	q, ok := e.queues[rec.zone]
	if !ok {
		return
	}
	key := queueKey{Node: rec.name}
	st, known := q.Get(key)
	if !known {
		return
	}
	q.Remove(key)
	if st.State == ratelimitqueue.StateWaiting {
		e.decide(Decision{Time: now, Kind: NodeDequeued, Node: rec.name, Zone: rec.zone, Reason: reason})
	}
}

// moveZone takes a node's place in the queue along to the zone its labels name now; e.mu is held.
func (e *Evictor) moveZone(rec *record) {
	from := rec.zone
	rec.zone = rec.nextZone
	old, ok := e.queues[from]
	if !ok || from == rec.zone {
		return
	}
	for _, release := range []bool{false, true} {
		key := queueKey{Node: rec.name, Release: release}
		st, known := old.Get(key)
		if !known {
			continue
		}
		old.Remove(key)
		if st.State == ratelimitqueue.StateWaiting {
			e.queue(rec.zone).AddEntry(ratelimitqueue.Entry[queueKey, struct{}]{Key: key, Due: st.Due, Identity: string(rec.uid)})
		}
	}
}

// takeQueues hands out what the zones' rates allow now; e.mu is held. The writes follow. While all workers hang
// nothing is handed out, or all of it would be tainted at once when they are free.
func (e *Evictor) takeQueues(now time.Time) {
	releases := e.releases()
	order := e.zoneOrder()
	if e.cap != nil || e.cfg.MaxFailedNodes > 0 { // in turns, or the first zone took all that the caps leave
		after := slices.IndexFunc(order, func(key zone.Key) bool { return key.Compare(e.served) > 0 })
		order = append(order[max(after, 0):], order[:max(after, 0)]...)
	}
	for _, key := range order {
		q := e.queues[key]
		for !e.allTurnsTaken() && e.capAllows(now, releases[key] > 0) {
			e.prefer(key, q, now)
			item, ok := q.Take()
			if !ok {
				break
			}
			e.served = key
			if releases[key] > 0 {
				releases[key]--
			}
			e.granted(item, now)
		}
	}
}

// prefer lets the user choose who of a zone is handed out next, by bringing its due time before the
// first one's; e.mu is held.
func (e *Evictor) prefer(key zone.Key, q *nodeQueue, now time.Time) {
	if e.opts.Prefer == nil {
		return
	}
	if next, ok := q.Next(); !ok || next.After(now) {
		return
	}
	var waiting []string
	for _, item := range q.Snapshot().Items {
		if item.State == ratelimitqueue.StateWaiting && !item.Key.Release && item.In <= 0 {
			waiting = append(waiting, item.Key.Node)
		}
	}
	if len(waiting) < 2 {
		return
	}
	first, _ := q.Get(queueKey{Node: waiting[0]})
	if name := e.opts.Prefer(key, waiting); name != waiting[0] && slices.Contains(waiting, name) {
		rec := e.records[name]
		q.AddEntry(ratelimitqueue.Entry[queueKey, struct{}]{Key: queueKey{Node: name}, Due: first.Due.Add(-1), Identity: string(rec.uid), OnDuplicate: ratelimitqueue.KeepEarliest})
	}
}

// releases counts the nodes that wait in each zone for their overdue pods to be let go, which matters only while the
// cap on failed nodes holds the others back; e.mu is held.
func (e *Evictor) releases() map[zone.Key]int {
	if e.cfg.MaxFailedNodes == 0 || len(e.gates.overdue) == 0 {
		return nil
	}
	waiting := make(map[zone.Key]int)
	for name := range e.gates.overdue {
		rec := e.records[name]
		if rec == nil || e.queues[rec.zone] == nil {
			continue
		}
		if st, ok := e.queues[rec.zone].Get(queueKey{Node: name, Release: true}); ok && st.State == ratelimitqueue.StateWaiting {
			waiting[rec.zone]++
		}
	}
	return waiting
}

// enqueueRelease lets a node wait for its overdue pods to be let go. It goes before those that are not
// tainted yet: a cap on tainted nodes must not hold it up behind them.
func (e *Evictor) enqueueRelease(rec *record) {
	e.queue(rec.zone).AddEntry(ratelimitqueue.Entry[queueKey, struct{}]{Key: queueKey{Node: rec.name, Release: true}, Due: time.Unix(0, 0), Identity: string(rec.uid)})
}

// forgetOverdue drops that pods of the node are overdue, and its turn to let them go; e.mu is held.
func (e *Evictor) forgetOverdue(rec *record) {
	rec.overdue = false
	delete(e.gates.overdue, rec.name)
	if q, ok := e.queues[rec.zone]; ok {
		q.Remove(queueKey{Node: rec.name, Release: true})
	}
}

func (e *Evictor) zoneOrder() []zone.Key {
	return slices.SortedFunc(maps.Keys(e.queues), zone.Key.Compare)
}

// capAllows checks the cluster-wide caps without spending anything. A release taints no other node.
func (e *Evictor) capAllows(now time.Time, release bool) bool {
	if e.full() && !release {
		return false
	}
	return e.cap == nil || e.cap.TokensAt(now) >= 1
}

func (e *Evictor) full() bool {
	return e.cfg.MaxFailedNodes > 0 && e.failed >= e.cfg.MaxFailedNodes
}

func (e *Evictor) allTurnsTaken() bool { return e.maxTurns > 0 && e.turns >= e.maxTurns }

// endTurn takes back what granted gave, if anything; e.mu is held. Run looks for the next one.
func (e *Evictor) endTurn(rec *record) {
	if rec.grant == nil {
		return
	}
	rec.grant = nil
	if e.turns--; e.maxTurns > 0 {
		e.inbox.kick()
	}
}

func (e *Evictor) granted(item nodeItem, now time.Time) {
	rec := e.records[item.Key.Node]
	if rec == nil {
		item.Drop()
		return
	}
	if item.Key.Release {
		item.Drop()
		if e.cap != nil {
			e.cap.AllowN(now, 1)
		}
		e.release(rec, now)
		return
	}
	looked := false
	defer func() {
		if !looked { // the store panicked
			item.Blocked(0)
		}
	}()
	node := e.current(rec)
	looked = true
	if node == nil { // it is looked at again when the store has caught up
		item.Blocked(e.cfg.GateInterval)
		return
	}
	if !e.standing(rec).MayBeHarmed() {
		// The last pass still said failed; the next one will see for itself.
		item.Drop()
		e.attention[rec.name] = rec
		e.decide(Decision{Time: now, Kind: NodeDequeued, Node: rec.name, Zone: rec.zone, Reason: "NotFailed"})
		return
	}
	if e.cap != nil {
		e.cap.AllowN(now, 1)
	}
	rec.grant = &item
	e.turns++
	e.count(rec, true)
	e.writes.Schedule(rec.name, struct{}{}, now)
}

// count keeps the number of nodes that MaxFailedNodes caps; e.mu is held.
func (e *Evictor) count(rec *record, failed bool) {
	if rec.counted == failed {
		return
	}
	rec.counted = failed
	if failed {
		e.failed++
	} else {
		e.failed--
	}
}

// recount is count by what the node carries or has been through; e.mu is held.
func (e *Evictor) recount(rec *record) {
	failed := rec.emptied
	if e.cfg.TaintBasedEviction {
		if failed = e.about(rec).Carries; failed && !rec.tainted {
			e.attention[rec.name] = rec // to count again when that ends
		}
	}
	e.count(rec, failed || rec.grant != nil)
}

// queueNext is when something can next be taken from a queue; e.mu is held.
func (e *Evictor) queueNext(now time.Time) (next time.Time, ok bool) {
	if e.allTurnsTaken() {
		return next, false
	}
	full, releases := e.full(), e.releases()
	for key, q := range e.queues {
		if full && releases[key] == 0 {
			continue
		}
		if t, some := q.Next(); some {
			next, ok = earlier(next, ok, t)
		}
	}
	if ok && e.cap != nil {
		if missing := 1 - e.cap.TokensAt(now); missing > 0 {
			if missing/float64(e.cap.Limit()) > math.MaxInt64/float64(time.Second) {
				return next, false // in more than 292 years
			}
			at := now.Add(time.Duration(missing/float64(e.cap.Limit())*float64(time.Second)) + 1)
			if next.Before(at) {
				next = at
			}
		}
	}
	return next, ok
}

func earlier(a time.Time, ok bool, b time.Time) (time.Time, bool) {
	if !ok || b.Before(a) {
		return b, true
	}
	return a, true
}
