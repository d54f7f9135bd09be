package health

import (
	"math"

	"github.com/evictkit/evictkit/internal/dueheap"
	"github.com/evictkit/evictkit/internal/slab"
	"github.com/evictkit/evictkit/internal/steady"
)

// none stands for no entry.
const none int32 = -1

// beats knows when each entry was last heard and which is due next. Entries have small numbers, given by the owner's
// index. It is not safe for concurrent use.
//
// Most entries share one grace period. They stand in a line, in the order of their last beats: a beat moves its entry to
// the end, and the head is due first. That is O(1), without allocation. Entries that do not fit into the line stand in a
// heap by deadline, O(log n): strays, whose beat is older than that of the line's tail, and entries with their own grace
// period.
//
// restart starts all clocks again in O(log n) by beginning a new round. An entry that was not touched in this round was
// last heard when the round began and is not out, whatever the entry itself says. All such entries with the common grace
// are in the line; those with their own grace are in stale, shortest grace first.
type beats struct {
	entries slab.Slab[entry]
	grace   int64 // the common one

	round uint32
	anew  int64 // when the round began

	line    list // by last beat
	strays  list // unordered; timed has them by deadline
	out     list // expired and handed out in this round
	ownOut  list // likewise, of the entries with their own grace
	timed   dueheap.Heap
	own     slab.Slab[ownGrace]
	touched int32 // root of the entries with their own grace that were touched in this round
	stale   int32 // root of those that were not
}

// entry is small, so that everything a beat needs fits into half a cache line.
type entry struct {
	beat       int64
	stamp      int64 // the owner's: the stamp that came with the last beat, noStamp if none
	prev, next int32 // in the list of its place
	round      uint32
	place      place
	hasOwn     bool
	flagged    bool // the owner's: the next beat has something to undo
}

// place is where an entry stands, provided that it was touched in this round.
type place uint8

const (
	nowhere place = iota
	inLine
	stray
	timed // with its own grace period
	out
)

const noStamp = math.MinInt64

func newBeats(grace int64) beats {
	return beats{grace: grace, line: empty, strays: empty, out: empty, ownOut: empty, touched: none, stale: none}
}

// add makes the entry, with the common grace. Until its first put it is nowhere.
func (b *beats) add(i int32) *entry {
	e := b.entries.Use(i)
	*e = entry{stamp: noStamp, prev: none, next: none, round: b.round}
	return e
}

func (b *beats) remove(i int32) {
	b.detach(i)
	b.own.Free(i)
	b.entries.Free(i)
}

func (b *beats) lastBeat(e *entry) int64 {
	if e.round != b.round {
		return b.anew
	}
	return e.beat
}

// isOut reports whether the entry was handed out since its last beat.
func (b *beats) isOut(e *entry) bool { return e.place == out && e.round == b.round }

func (b *beats) graceOf(i int32, e *entry) int64 {
	if e.hasOwn {
		return b.own.At(i).grace
	}
	return b.grace
}

func (b *beats) deadline(i int32, e *entry) int64 { return sum(b.lastBeat(e), b.graceOf(i, e)) }

// put records a beat.
func (b *beats) put(i int32, beat int64) {
	e := b.entries.At(i)
	switch {
	case b.line.tail == i && beat >= b.lastBeat(e):
		e.beat, e.round, e.place = beat, b.round, inLine
	case e.place == timed && e.round == b.round:
		e.beat = beat
		b.timed.Set(i, sum(beat, b.own.At(i).grace), 0)
	default:
		b.detach(i)
		b.enlist(i, e, beat)
	}
}

// setGrace gives the entry another grace period, counted from its last beat.
func (b *beats) setGrace(i int32, grace int64) {
	e := b.entries.At(i)
	beat, isOut := b.lastBeat(e), b.isOut(e)
	wasPut := e.place != nowhere
	b.detach(i)
	switch e.hasOwn = grace != b.grace; {
	case e.hasOwn:
		b.own.Use(i).grace = grace
	default:
		b.own.Free(i)
	}
	switch {
	case isOut:
		b.setOut(i, e, beat)
	case wasPut:
		b.enlist(i, e, beat)
	}
}

// enlist queues a detached entry for its deadline.
func (b *beats) enlist(i int32, e *entry, beat int64) {
	e.beat = beat
	switch tail := b.line.tail; {
	case e.hasOwn:
		e.place = timed
		b.insertOwn(&b.touched, i)
		b.timed.Set(i, sum(beat, b.own.At(i).grace), 0)
	case tail == none || b.lastBeat(b.entries.At(tail)) <= beat:
		e.place = inLine
		b.link(&b.line, i, e)
	default:
		e.place = stray
		b.link(&b.strays, i, e)
		b.timed.Set(i, sum(beat, b.grace), 0)
	}
}

// setOut marks a detached entry as handed out.
func (b *beats) setOut(i int32, e *entry, beat int64) {
	e.beat, e.place = beat, out
	if e.hasOwn {
		b.insertOwn(&b.touched, i)
		b.link(&b.ownOut, i, e)
	} else {
		b.link(&b.out, i, e)
	}
}

// detach takes the entry from where it stands. After that it counts as touched in this round.
func (b *beats) detach(i int32) {
	e := b.entries.At(i)
	switch isStale := e.round != b.round; {
	case e.place == nowhere:
	case e.hasOwn && isStale:
		b.removeOwn(&b.stale, i)
	case e.hasOwn:
		b.removeOwn(&b.touched, i)
		if e.place == out {
			b.unlink(&b.ownOut, e)
		} else {
			b.timed.Remove(i)
		}
	case isStale || e.place == inLine:
		b.unlink(&b.line, e)
	case e.place == stray:
		b.unlink(&b.strays, e)
		b.timed.Remove(i)
	default:
		b.unlink(&b.out, e)
	}
	e.place, e.round = nowhere, b.round
}

// earliest returns the entry that is due next, or none.
func (b *beats) earliest() (number int32, deadline int64) {
	number, deadline = none, math.MaxInt64
	if i := b.line.head; i != none {
		number, deadline = i, sum(b.lastBeat(b.entries.At(i)), b.grace)
	}
	if i, due, ok := b.timed.Min(); ok && (due < deadline || number == none) {
		number, deadline = i, due
	}
	if i := b.stale; i != none {
		if due := sum(b.anew, b.own.At(i).grace); due < deadline || number == none {
			number, deadline = i, due
		}
	}
	return number, deadline
}

// expire hands out the entry with the earliest deadline that is at or before now, or returns none.
func (b *beats) expire(now int64) int32 {
	i, deadline := b.earliest()
	if i == none || deadline > now {
		return none
	}
	e := b.entries.At(i)
	beat := b.lastBeat(e)
	b.detach(i)
	b.setOut(i, e, beat)
	return i
}

// restart starts all clocks again at that time. Entries that were handed out wait for their deadline again.
func (b *beats) restart(at int64) {
	b.round++ // at one restart a second it overflows after 136 years
	b.anew = at
	b.line = b.join(b.out, b.join(b.strays, b.line))
	b.out, b.strays, b.ownOut = empty, empty, empty
	b.timed = dueheap.Heap{}
	b.stale, b.touched = b.meld(b.stale, b.touched), none
	if b.stale != none {
		b.own.At(b.stale).parent = none
	}
}

// each visits every entry.
func (b *beats) each(visit func(i int32)) {
	for _, l := range []list{b.line, b.strays, b.out} {
		for i := l.head; i != none; i = b.entries.At(i).next {
			visit(i)
		}
	}
	b.eachOwn(b.touched, math.MaxInt64, visit)
	b.eachOwn(b.stale, math.MaxInt64, visit)
}

// late visits every entry whose deadline is at or before now. It costs what it visits, plus the entries that are out.
func (b *beats) late(now int64, visit func(i int32, deadline int64)) {
	for _, l := range []list{b.out, b.ownOut} {
		for i := l.head; i != none; i = b.entries.At(i).next {
			if due := b.deadline(i, b.entries.At(i)); due <= now { // else it has been given a longer grace since
				visit(i, due)
			}
		}
	}
	for i := b.line.head; i != none; i = b.entries.At(i).next {
		due := sum(b.lastBeat(b.entries.At(i)), b.grace)
		if due > now {
			break
		}
		visit(i, due)
	}
	b.timed.Until(now, visit)
	b.eachOwn(b.stale, steady.Sub(now, b.anew), func(i int32) { visit(i, sum(b.anew, b.own.At(i).grace)) })
}

// sum adds a grace period without overflow.
func sum(a, grace int64) int64 {
	if s := a + grace; s >= a {
		return s
	}
	return math.MaxInt64
}
