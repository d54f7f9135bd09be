package ratelimitqueue

import (
	"slices"

	"github.com/evictkit/evictkit/internal/dueheap"
)

// line holds the items that wait for the tokens of one bucket: all of a queue, or those of one domain of a group.
type line struct {
	due       dueheap.Heap
	exempt    dueheap.Heap // goes first
	bucket    bucket
	pauses    []string // of this line only
	counts    [states]int
	turn      uint64 // rises with every turn served: the line with the lowest is next
	forgotten bool   // ForgetDomain was called: drop its rate and pauses once it has no key
}

func (c *core[K, V]) newLine(rate float64, now int64) *line {
	l := &line{
		due: dueheap.Sharing(&c.places), exempt: dueheap.Sharing(&c.places),
		bucket: newBucket(rate, c.config.Burst, now),
	}
	if len(c.pauses) > 0 {
		l.bucket.freeze(now)
	}
	return l
}

func (l *line) heap(exempt bool) *dueheap.Heap {
	if exempt {
		return &l.exempt
	}
	return &l.due
}

// known returns how many keys belong to the line, in any state.
func (l *line) known() int {
	return l.counts[StateWaiting] + l.counts[StateInFlight] + l.counts[StateKept]
}

// first returns the due item that is handed out next.
func (l *line) first(now int64) (number int32, ok bool) {
	if number, due, ok := l.exempt.Min(); ok && due <= now {
		return number, true
	}
	number, due, ok := l.due.Min()
	return number, ok && due <= now
}

// next returns the first instant, not before from, at which the line has a due item and a token for it.
func (l *line) next(from int64, exemptOnly bool) (int64, bool) {
	_, due, ok := l.exempt.Min()
	if !exemptOnly {
		if _, other, some := l.due.Min(); some && (!ok || other < due) {
			due, ok = other, true
		}
	}
	if !ok {
		return 0, false
	}
	return l.bucket.next(max(from, due))
}

// pause adds a reason and reports whether it is new.
func pause(reasons *[]string, reason string) bool {
	if slices.Contains(*reasons, reason) {
		return false
	}
	*reasons = append(*reasons, reason)
	return true
}

// resume removes a reason and reports whether it was there.
func resume(reasons *[]string, reason string) bool {
	i := slices.Index(*reasons, reason)
	if i < 0 {
		return false
	}
	*reasons = slices.Delete(*reasons, i, i+1)
	return true
}
