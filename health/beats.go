package health

// none is the index of no entry.
const none int32 = -1

// beats keeps entries in the order of their last beat, one list for each grace period, as a slab with
// links: a beat is O(1) and allocates nothing, and the head of each list is what expires next. It is not safe
// for concurrent use.
type beats struct {
	entries []entry
	lists   []list
}

type entry struct {
	beat       int64 // nanoseconds since the owner's base
	stamp      int64 // what the beat brought, where the owner compares it: beside the beat for the cache
	prev, next int32
	list       int16
	listed     bool // false once its expiry was handed out, until the next beat
	used       bool
	stamped    bool
	flagged    bool // the owner has something to undo at the next beat
}

type list struct {
	grace      int64
	head, tail int32
}

// listOf returns the list for a grace period, made on demand.
func (b *beats) listOf(grace int64) int16 {
	for i := range b.lists {
		if b.lists[i].grace == grace {
			return int16(i)
		}
	}
	b.lists = append(b.lists, list{grace: grace, head: none, tail: none})
	return int16(len(b.lists) - 1)
}

// add makes the entry of that number, which the owner's index gave; it is not listed before its first
// put.
func (b *beats) add(i int32) {
	if int(i) == len(b.entries) {
		b.entries = append(b.entries, entry{})
	}
	b.entries[i] = entry{prev: none, next: none, used: true}
}

func (b *beats) remove(i int32) {
	b.unlist(i)
	b.entries[i] = entry{}
}

func (b *beats) unlist(i int32) {
	e := &b.entries[i]
	if !e.listed {
		return
	}
	l := &b.lists[e.list]
	if e.prev == none {
		l.head = e.next
	} else {
		b.entries[e.prev].next = e.next
	}
	if e.next == none {
		l.tail = e.prev
	} else {
		b.entries[e.next].prev = e.prev
	}
	e.prev, e.next, e.listed = none, none, false
}

// put records a beat. One that is not older than all others, which is what a clock gives, goes to the
// end at once; an older one is sorted in from the front.
func (b *beats) put(i int32, list int16, beat int64) {
	e := &b.entries[i]
	l := &b.lists[list]
	if e.listed && e.list == list && l.tail == i && beat >= e.beat {
		e.beat = beat
		return
	}
	b.unlist(i)
	e.beat, e.list, e.listed = beat, list, true
	if l.tail == none || b.entries[l.tail].beat <= beat {
		b.link(i, l.tail, none, l)
		return
	}
	after := l.head
	for b.entries[after].beat <= beat {
		after = b.entries[after].next
	}
	b.link(i, b.entries[after].prev, after, l)
}

func (b *beats) link(i, prev, next int32, l *list) {
	b.entries[i].prev, b.entries[i].next = prev, next
	if prev == none {
		l.head = i
	} else {
		b.entries[prev].next = i
	}
	if next == none {
		l.tail = i
	} else {
		b.entries[next].prev = i
	}
}

// expired takes one entry out whose last beat plus grace is at or before now, or returns none.
func (b *beats) expired(now int64) int32 {
	for l := range b.lists {
		if i := b.lists[l].head; i != none && sum(b.entries[i].beat, b.lists[l].grace) <= now {
			b.unlist(i)
			return i
		}
	}
	return none
}

// next is the earliest deadline of what is listed.
func (b *beats) next() (deadline int64, ok bool) {
	for l := range b.lists {
		if i := b.lists[l].head; i != none {
			if d := sum(b.entries[i].beat, b.lists[l].grace); !ok || d < deadline {
				deadline, ok = d, true
			}
		}
	}
	return deadline, ok
}

// sum adds without overflow.
func sum(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}
