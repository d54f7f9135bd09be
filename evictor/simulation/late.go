package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// late holds the controller's writes in flight while the API is slow. There are as many in flight as there are workers;
// others wait. Each takes effect at its end, on what exists then.
type late struct {
	writes []lateWrite // in order
	free   [writeKinds][]time.Duration
	at     [writeKinds]int
}

type lateWrite struct {
	at time.Duration
	do func()
}

// Kinds of writes. Each has its own workers.
const (
	nodeWrite = iota
	podWrite
	writeKinds
)

// soon makes a write, and returns its answer: at once, unless its client has reached its limit or the API is slow.
func (w *writer) soon(call write) error {
	client, now := &w.clients[call.client], w.cluster.Clock.Elapsed()
	client.note(now)
	if client.every == 0 {
		w.send(&call)
	} else {
		client.wait(call)
		w.sendDue(now)
	}
	_, answer := w.outcome()
	return answer
}

// sendDue sends the writes that the clients' limits let go now.
func (w *writer) sendDue(now time.Duration) {
	for i := range w.clients {
		for call := w.clients[i].send(now); call != nil; call = w.clients[i].send(now) {
			w.send(call)
		}
	}
}

// send makes a write at once unless the API is slow.
func (w *writer) send(call *write) {
	if w.latency == 0 {
		call.do()
		return
	}
	l, now, kind := &w.late, w.cluster.Clock.Elapsed(), call.kind
	if l.free[kind] == nil {
		defaults := evictor.DefaultConfig()
		workers := [writeKinds]int{nodeWrite: defaults.Nodes.NodeWorkers, podWrite: defaults.PodWorkers}
		l.free[kind] = make([]time.Duration, workers[kind])
	}
	free := &l.free[kind][l.at[kind]]
	l.at[kind] = (l.at[kind] + 1) % len(l.free[kind])
	*free = max(*free, now) + w.latency
	at, _ := slices.BinarySearchFunc(l.writes, *free, func(w lateWrite, at time.Duration) int { return cmp.Or(cmp.Compare(w.at, at), -1) })
	l.writes = slices.Insert(l.writes, at, lateWrite{*free, call.do})
}

// nextArrival returns when a write is next sent or takes effect.
func (w *writer) nextArrival() time.Duration {
	next, now := never, w.cluster.Clock.Elapsed()
	if len(w.late.writes) > 0 {
		next = w.late.writes[0].at
	}
	for i := range w.clients {
		next = min(next, w.clients[i].due(now))
	}
	return next
}

// arrive sends the writes, and makes those take effect, whose time has come.
func (w *writer) arrive(now time.Duration) {
	w.sendDue(now)
	for len(w.late.writes) > 0 && w.late.writes[0].at <= now {
		do := w.late.writes[0].do
		w.late.writes = w.late.writes[1:]
		do()
	}
}
