package slots

import (
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Hold is what the holder of an item has: it stays good however the key fares.
type Hold[K comparable, V, L any] struct {
	table    *Table[K, V, L]
	slot     *Slot[K, V, L] // of this key only until this holder has ended
	number   uint64
	attempts int
}

// Ending says how a try ended.
type Ending struct {
	Kind  Kind
	After time.Duration // until it is due again
	Err   error
}

// Kind is the kind of an ending.
type Kind uint8

// The kinds.
const (
	Forget     Kind = iota
	Done            // the key stays known
	Retry           // with the backoff
	RetryAfter      // with After
	Blocked
)

// Hand gives a slot that was in order to a new holder.
func (t *Table[K, V, L]) Hand(s *Slot[K, V, L]) Hold[K, V, L] {
	t.holders++
	s.holder = t.holders
	t.become(s, InFlight)
	return Hold[K, V, L]{t, s, t.holders, s.Attempts()}
}

// Ended reports whether the holder has ended.
func (h Hold[K, V, L]) Ended() bool { return h.slot.holder != h.number }

// Delay sets After of a Retry to what the backoff says. The Mutex must not be held, because Jitter is the user's. If that
// ends the goroutine, After is what it would be without Jitter.
func (h Hold[K, V, L]) Delay(e *Ending, key K) {
	if e.Kind == Retry {
		backoff := h.table.config.Backoff
		backoff.Jitter = nil
		e.After = backoff.Delay(h.attempts+1, nil)
		e.After = h.table.config.Backoff.Delay(h.attempts+1, func(value any) { _ = h.table.Panicked(key, value) })
	}
}

// End ends the try. The holder has not ended.
func (h Hold[K, V, L]) End(e Ending, now int64) {
	t, s := h.table, h.slot
	wanted := s.State == InFlight
	s.holder = 0
	switch {
	case wanted:
		t.end(s, e, now)
	case s.State == Unknown:
		t.slots.Delete(s.Key, s)
	default: // the key was added again
		t.queue(s)
	}
}

// end ends a try of an item that is still wanted.
func (t *Table[K, V, L]) end(s *Slot[K, V, L], e Ending, now int64) {
	tried := s.tried
	var n *newer[V]
	if tried != nil {
		n = tried.newer
	}
	switch {
	case e.Kind == Done:
		s.Value, s.Exempt, s.tried = *new(V), false, nil
		t.become(s, Finished)
		return
	case e.Kind > Done:
		s.Due = steady.Add(now, e.After)
		tried = s.try()
		tried.newer, tried.again = nil, true
		if e.Kind != Blocked {
			tried.attempts++
			tried.err = e.Err
		}
		if n != nil && n.again.valued {
			s.replace(n.again.value, n.again.due, n.again.named, n.again.exempt)
		}
	default:
		s.tried = nil
		if n == nil {
			t.become(s, Unknown)
			t.slots.Delete(s.Key, s)
			return
		}
		s.replace(n.fresh.value, n.fresh.due, true, n.fresh.exempt)
		s.Added, s.Seq = n.added, n.seq
	}
	t.become(s, Waiting)
	t.queue(s)
}
