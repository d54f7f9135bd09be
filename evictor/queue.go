package evictor

import (
	"maps"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/taints"
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
		Rate:  policy.Rate(zone.Situation{Zone: key, State: zone.Initial}),
		Burst: 1,
		Clock: e.clock,

		OnDuplicate: ratelimitqueue.KeepEarliest, // see prefer
	})
	if err != nil { // a policy of the user's gave no valid rate: nothing leaves
		q, _ = ratelimitqueue.New[queueKey, struct{}](ratelimitqueue.Config{Burst: 1, Clock: e.clock})
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
	if st, ok := q.Get(key); ok && st.State == ratelimitqueue.StateHeld {
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
	if st.State == ratelimitqueue.StateQueued {
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
		if st.State == ratelimitqueue.StateQueued {
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
	for _, item := range q.Snapshot() {
		if item.State == ratelimitqueue.StateQueued && !item.Key.Release && item.In <= 0 {
			waiting = append(waiting, item.Key.Node)
		}
	}
	if len(waiting) < 2 {
		return
	}
	first, _ := q.Get(queueKey{Node: waiting[0]})
	if name := e.opts.Prefer(key, waiting); name != waiting[0] && slices.Contains(waiting, name) {
		rec := e.records[name]
		q.AddEntry(ratelimitqueue.Entry[queueKey, struct{}]{Key: queueKey{Node: name}, Due: first.Due.Add(-1), Identity: string(rec.uid)})
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
		if st, ok := e.queues[rec.zone].Get(queueKey{Node: name, Release: true}); ok && st.State == ratelimitqueue.StateQueued {
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
			item.Retry(0)
		}
	}()
	node, ok := e.clients.Nodes.Node(rec.name)
	looked = true
	if !ok || node.UID != rec.uid || !e.failing(rec) || rec.hold != "" || e.saysReady(rec, node) {
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
func (e *Evictor) recount(rec *record, node *v1.Node) {
	failed := rec.emptied
	if e.cfg.TaintBasedEviction {
		if failed = e.carries(rec, node); failed && !rec.unseen.IsZero() {
			e.attention[rec.name] = rec // to count again when that ends
		}
	}
	e.count(rec, failed || rec.grant != nil)
}

// carries says whether the node has our NoExecute taint. A store lags behind the writes: for one grace period
// what was written is there until the store has shown it; e.mu is held.
func (e *Evictor) carries(rec *record, node *v1.Node) bool {
	if hasOwnNoExecute(node) {
		rec.unseen = time.Time{}
		return true
	}
	return e.now.Before(rec.unseen)
}

// failing says whether the verdict is one that taints; e.mu is held.
func (e *Evictor) failing(rec *record) bool {
	return rec.known && (rec.verdict.Ready == v1.ConditionFalse || rec.verdict.Ready == v1.ConditionUnknown)
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

// saysReady says whether the kubelet has reported Ready since the verdict; e.mu is held. An object that
// still says Ready because our own Unknown is not written yet does not count.
func (e *Evictor) saysReady(rec *record, node *v1.Node) bool {
	if readyStatus(node) != v1.ConditionTrue {
		return false
	}
	if e.monitor.ObserveNode(node).Heartbeat {
		rec.beatSince = true
	}
	return !rec.verdict.Expired || rec.beatSince
}

// readyStatus is the node's Ready condition, empty when it has none.
func readyStatus(node *v1.Node) v1.ConditionStatus {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == v1.NodeReady {
			return node.Status.Conditions[i].Status
		}
	}
	return ""
}

func hasOwnNoExecute(node *v1.Node) bool {
	for i := range node.Spec.Taints {
		if taints.OwnNoExecute(&node.Spec.Taints[i]) {
			return true
		}
	}
	return false
}
