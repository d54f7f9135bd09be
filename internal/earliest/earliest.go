// Package earliest keeps a set of instants and returns the earliest in O(1), for callers who ask often under a lock.
package earliest

import (
	"container/heap"
	"time"
)

// Of is a set of instants. The zero Of is empty. It is not safe for concurrent use.
type Of struct{ list order }

// One is an instant that is in at most one set. The zero One is in none. It must not be copied while it is in a set.
type One struct {
	at    time.Time
	in    *Of
	place int // in in.list
}

// Put adds the instant to the set, or moves it there. O(log n).
func (s *Of) Put(o *One, at time.Time) {
	switch {
	case o.in == nil:
		o.at, o.in = at, s
		heap.Push(&s.list, o)
	case !o.at.Equal(at):
		o.at = at
		heap.Fix(&s.list, o.place)
	}
}

// Leave removes the instant from its set, if it is in one. O(log n).
func (o *One) Leave() {
	if o.in != nil {
		heap.Remove(&o.in.list, o.place)
		*o = One{}
	}
}

// At returns the instant, or false if it is in no set.
func (o *One) At() (time.Time, bool) { return o.at, o.in != nil }

// DropUntil removes the instants that are not after at. O(log n) for each.
func (s *Of) DropUntil(at time.Time) {
	for len(s.list) > 0 && !s.list[0].at.After(at) {
		s.list[0].Leave()
	}
}

// First returns the earliest instant, or false if there is none. O(1).
func (s *Of) First() (time.Time, bool) {
	if len(s.list) == 0 {
		return time.Time{}, false
	}
	return s.list[0].at, true
}

// Len returns the number of instants.
func (s *Of) Len() int { return len(s.list) }

// keptRoom is the capacity below which memory is never given back.
const keptRoom = 64

// order implements heap.Interface.
type order []*One

func (l order) Len() int           { return len(l) }
func (l order) Less(i, j int) bool { return l[i].at.Before(l[j].at) }

func (l order) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].place, l[j].place = i, j
}

func (l *order) Push(o any) {
	one := o.(*One) //nolint:errcheck // Put pushes only these
	one.place = len(*l)
	*l = append(*l, one)
}

// Pop halves the capacity if less than a quarter of it is used.
func (l *order) Pop() any {
	last := len(*l) - 1
	one := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	if cap(*l) > keptRoom && last < cap(*l)/4 {
		*l = append(make(order, 0, cap(*l)/2), *l...)
	}
	return one
}
