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

// soon makes a write, at once unless the API is slow, and returns its answer.
func (w *writer) soon(kind int, do func()) error {
	if w.latency == 0 {
		do()
		return w.loses()
	}
	l, now := &w.late, w.cluster.Clock.Elapsed()
	if l.free[kind] == nil {
		defaults := evictor.DefaultConfig()
		workers := [writeKinds]int{nodeWrite: defaults.Nodes.NodeWorkers, podWrite: defaults.PodWorkers}
		l.free[kind] = make([]time.Duration, workers[kind])
	}
	free := &l.free[kind][l.at[kind]]
	l.at[kind] = (l.at[kind] + 1) % len(l.free[kind])
	*free = max(*free, now) + w.latency
	at, _ := slices.BinarySearchFunc(l.writes, *free, func(w lateWrite, at time.Duration) int { return cmp.Or(cmp.Compare(w.at, at), -1) })
	l.writes = slices.Insert(l.writes, at, lateWrite{*free, do})
	return nil
}

// nextArrival returns when a write next takes effect.
func (w *writer) nextArrival() time.Duration {
	if len(w.late.writes) == 0 {
		return never
	}
	return w.late.writes[0].at
}

// arrive makes the writes take effect whose time has come.
func (w *writer) arrive(now time.Duration) {
	for len(w.late.writes) > 0 && w.late.writes[0].at <= now {
		do := w.late.writes[0].do
		w.late.writes = w.late.writes[1:]
		do()
	}
}
