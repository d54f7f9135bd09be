package health

// list is a list of entries linked by their numbers, so that two lists can be joined in O(1).
type list struct{ head, tail int32 }

var empty = list{none, none}

// link appends the entry.
func (b *beats) link(l *list, i int32, e *entry) {
	e.prev, e.next = l.tail, none
	if l.tail == none {
		l.head = i
	} else {
		b.entries.At(l.tail).next = i
	}
	l.tail = i
}

func (b *beats) unlink(l *list, e *entry) {
	if e.prev == none {
		l.head = e.next
	} else {
		b.entries.At(e.prev).next = e.next
	}
	if e.next == none {
		l.tail = e.prev
	} else {
		b.entries.At(e.next).prev = e.prev
	}
}

// join returns the first list followed by the second.
func (b *beats) join(first, second list) list {
	switch {
	case first.head == none:
		return second
	case second.head == none:
		return first
	}
	b.entries.At(first.tail).next = second.head
	b.entries.At(second.head).prev = first.tail
	return list{first.head, second.tail}
}
