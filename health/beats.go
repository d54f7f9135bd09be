package health

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// beats knows which entry is due next, and how much of the time somebody listened. It is not safe for concurrent use.
//
// Entries with the same grace period are a group, because the same time counts for them. A beat only notes the time, in
// O(1). The heap still has the entry where it was. When the entry gets to the top there too early, it moves to its true
// deadline, in O(log n): at most once in a grace period, however often it beats. An entry that is not in the heap was
// handed out.
type beats[R any] struct {
	period int64 // of the passes, 0 without
	maxGap int64 // as configured, 0 for a quarter of each grace
	now    int64 // steady time of the last call
	least  int64 // the smallest gap, 0 if there is no group
	groups due.Map[int64, group[R]]
	all    due.Heap[*group[R]] // by gap
	live   due.Heap[*group[R]] // those of which an entry is in the heap, by gap
	first  due.Heap[*group[R]] // the same by the first due time, in steady time
}

// group is the entries with one grace period. Their times are steady time less what is lost.
type group[R any] struct {
	grace int64
	gap   int64 // of the time between two calls, at most this much counts
	lost  int64 // the time that did not count
	size  int
	heap  due.Heap[*entry[R]]

	inAll, inLive, inFirst due.Place
}

// entry is one key, with what its owner keeps for it.
type entry[R any] struct {
	group *group[R]
	beat  int64
	due   int64 // where the heap has it: its deadline, or earlier
	place due.Place
	of    R
}

func (e *entry[R]) deadline() int64 { return steady.Add(e.beat, time.Duration(e.group.grace)) }

// isOut reports whether the entry was handed out since its last beat.
func (e *entry[R]) isOut() bool { return !e.place.In() }

// listen is the first thing in each call. It is the rule of silence: of the time since the call before, at most gap
// counts.
func (b *beats[R]) listen(now int64) {
	passed := steady.Sub(now, b.now)
	if b.now = now; passed <= b.least {
		return
	}
	b.all.Until(passed, func(g *group[R]) {
		g.lost = steady.Add(g.lost, time.Duration(passed-g.gap))
		b.arrange(g)
	})
}

// next returns when to call again, in steady time; false if nobody can fall silent.
func (b *beats[R]) next() (at int64, ok bool) {
	e := b.earliest()
	if e == nil {
		return 0, false
	}
	_, gap, _ := b.live.Min()
	return min(b.at(e), steady.Add(b.now, time.Duration(gap-gap/2))), true
}

// heard returns the time that counted so far.
func (b *beats[R]) heard(g *group[R]) int64 { return steady.Sub(b.now, g.lost) }

// silent returns for how long the entry has been silent.
func (b *beats[R]) silent(e *entry[R]) int64 { return steady.Sub(b.heard(e.group), e.beat) }

// at returns when the entry is due, in steady time.
func (b *beats[R]) at(e *entry[R]) int64 { return steady.Add(e.due, time.Duration(e.group.lost)) }

// of returns the group with that grace period.
func (b *beats[R]) of(grace int64) *group[R] {
	g := b.groups.Get(grace)
	if g == nil {
		g = b.groups.Add(grace)
		g.grace, g.gap = grace, max(cmp.Or(b.maxGap, grace/4, 1), steady.Add(b.period, time.Duration(b.period/5)))
		b.all.Set(g, &g.inAll, g.gap, 0)
		_, b.least, _ = b.all.Min()
	}
	return g
}

// join puts a new entry into the group of its grace period.
func (b *beats[R]) join(e *entry[R], grace int64) {
	e.group = b.of(grace)
	e.group.size++
}

// leave takes the entry out of its group.
func (b *beats[R]) leave(e *entry[R]) {
	g := e.group
	b.remove(e)
	if g.size--; g.size == 0 {
		b.all.Remove(&g.inAll)
		_, b.least, _ = b.all.Min()
		b.groups.Delete(g.grace, g)
	}
}

// put records a beat.
func (b *beats[R]) put(e *entry[R], beat int64) {
	e.beat = beat
	if deadline := e.deadline(); e.isOut() || deadline < e.due {
		b.move(e, deadline)
	}
}

// beatNow records a beat now.
func (b *beats[R]) beatNow(e *entry[R]) { b.put(e, b.heard(e.group)) }

// setGrace gives the entry another grace period, counted from its last beat.
func (b *beats[R]) setGrace(e *entry[R], grace int64) {
	if e.group.grace == grace {
		return
	}
	silent, out := b.silent(e), e.isOut()
	b.leave(e)
	b.join(e, grace)
	if e.beat = steady.Sub(b.heard(e.group), silent); !out {
		b.move(e, e.deadline())
	}
}

func (b *beats[R]) move(e *entry[R], due int64) {
	e.due = due
	e.group.heap.Set(e, &e.place, due, 0)
	b.arrange(e.group)
}

// remove takes the entry out of the heap.
func (b *beats[R]) remove(e *entry[R]) {
	if e.group.heap.Remove(&e.place) {
		b.arrange(e.group)
	}
}

// arrange puts a group where it belongs after its heap or its time has changed.
func (b *beats[R]) arrange(g *group[R]) {
	e, _, ok := g.heap.Min()
	if !ok {
		b.live.Remove(&g.inLive)
		b.first.Remove(&g.inFirst)
		return
	}
	b.live.Set(g, &g.inLive, g.gap, 0)
	b.first.Set(g, &g.inFirst, b.at(e), 0)
}

// earliest returns the entry that is due next, or nil.
func (b *beats[R]) earliest() *entry[R] {
	for {
		g, _, ok := b.first.Min()
		if !ok {
			return nil
		}
		e, _, _ := g.heap.Min()
		if e.due == e.deadline() {
			return e
		}
		b.move(e, e.deadline())
	}
}

// expire hands out the entry with the earliest deadline that is at or before a steady time, or returns nil.
func (b *beats[R]) expire(by int64) *entry[R] {
	e := b.earliest()
	if e == nil || b.at(e) > by {
		return nil
	}
	b.remove(e)
	return e
}

// until returns the entries that are due at a steady time or before, if nobody beats and all time until then counts.
func (b *beats[R]) until(by int64) (near []*entry[R]) {
	b.first.Until(by, func(g *group[R]) {
		g.heap.Until(steady.Sub(by, g.lost), func(e *entry[R]) { near = append(near, e) })
	})
	return slices.DeleteFunc(near, func(e *entry[R]) bool {
		b.move(e, e.deadline())
		return b.at(e) > by
	})
}
