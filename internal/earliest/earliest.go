// Package earliest has the earliest of many instants at hand, for those who ask often, and hold a lock while they do.
package earliest

import (
	"container/heap"
	"time"
)

// Of is a set of instants. The zero Of is empty. It is not safe for concurrent use.
type Of struct{ list order }

// One is an instant that is in a set, or in none as the zero One is. It must not be copied while it is in one.
type One struct {
	at    time.Time
	in    *Of
	place int // in in.list
}

// Put has the instant in the set from now on, at that time. It is O(log n).
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

// Leave takes the instant out of the set that it is in, if it is in one. It is O(log n).
func (o *One) Leave() {
	if o.in != nil {
		heap.Remove(&o.in.list, o.place)
		*o = One{}
	}
}

// First is the earliest, at the cost of a look; false when there is none.
func (s *Of) First() (time.Time, bool) {
	if len(s.list) == 0 {
		return time.Time{}, false
	}
	return s.list[0].at, true
}

// Len is how many there are.
func (s *Of) Len() int { return len(s.list) }

// keptRoom is of how many the room is never given back.
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
	one := o.(*One) //nolint:errcheck // of Put
	one.place = len(*l)
	*l = append(*l, one)
}

// Pop halves the room when no more than a quarter of it is used.
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
