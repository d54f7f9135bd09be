package slots

import (
	"fmt"
	"iter"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/backoff"
	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// Owner puts slots in the order in which they are handed out. It is called with the Mutex held.
type Owner[K comparable, V, L any] interface {
	// Queue puts a waiting slot in order, or moves it if Due has changed.
	Queue(*Slot[K, V, L])
	// Unqueue takes a slot out, if it is there.
	Unqueue(*Slot[K, V, L])
	// Became is called after each change of a slot's State.
	Became(_ *Slot[K, V, L], was State)
}

// Config is what both packages let their users configure.
type Config struct {
	Name    string // of the package, for its errors
	Clock   clock.PassiveClock
	Backoff backoff.Backoff
	OnPanic func(key, value any, stack []byte)
}

// Table holds the slots. The Mutex of the Guard guards all of it, and what its owner says that it guards.
type Table[K comparable, V, L any] struct {
	steady.Guard
	config  Config
	owner   Owner[K, V, L]
	slots   due.Map[K, Slot[K, V, L]]
	counts  [states]int
	seq     uint64 // numbers what was added: the place among equal due times
	holders uint64 // numbers the holders
}

// Start makes a zero Table ready for use.
func (t *Table[K, V, L]) Start(config Config, owner Owner[K, V, L]) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	config.Backoff = config.Backoff.Default()
	t.config, t.owner, t.Clock = config, owner, config.Clock
	t.Time.Read(t.Clock.Now())
}

// Get returns the slot of a known key, or nil.
func (t *Table[K, V, L]) Get(key K) *Slot[K, V, L] {
	if s := t.slots.Get(key); s != nil && s.State != Unknown {
		return s
	}
	return nil
}

// All yields the slots, in no particular order.
func (t *Table[K, V, L]) All() iter.Seq[*Slot[K, V, L]] {
	return func(yield func(*Slot[K, V, L]) bool) {
		for _, s := range t.slots.All() {
			if s.State != Unknown && !yield(s) {
				return
			}
		}
	}
}

// Count returns how many keys are in this state.
func (t *Table[K, V, L]) Count(s State) int { return t.counts[s] }

// Add adds an entry, for which an unknown key will wait in that line, and returns the state in which it found the key. If
// the key is known, it does what the entry's policy says.
func (t *Table[K, V, L]) Add(e *Entry[K, V], line L, now int64) State {
	at := now
	if !e.Due.IsZero() {
		at = t.Time.Of(e.Due)
	}
	s := t.slots.Get(e.Key)
	if s == nil {
		if e.Key != e.Key { //nolint:gocritic // a number that is none
			panic(fmt.Sprintf("%s: the key %v does not equal itself, so it could never be removed", t.config.Name, e.Key)) //nolint:forbidigo // as for a key that cannot be hashed
		}
		s = t.slots.Add(e.Key)
		s.Key = e.Key
	}
	switch s.State {
	case Unknown:
		s.Line = line
		t.fresh(s, e, now, at)
		return Unknown
	case InFlight:
		if e.OnDuplicate != KeepFirst {
			t.meanwhile(s, e, now, at)
		}
	case Waiting:
		if !e.OnDuplicate.keeps(s.Due, s.again(), at) {
			t.owner.Unqueue(s)
			s.replace(e.Value, at, !e.Due.IsZero() || e.OnDuplicate == KeepEarliest, e.Exempt)
			t.queue(s)
		}
	}
	return s.State
}

// meanwhile notes what is added while the key is in flight.
func (t *Table[K, V, L]) meanwhile(s *Slot[K, V, L], e *Entry[K, V], now, at int64) {
	n, named := s.try().newer, !e.Due.IsZero()
	if n != nil {
		n.fresh.take(e.Value, at, named, e.Exempt, e.OnDuplicate)
	} else {
		n = &newer[V]{fresh: wish[V]{value: e.Value, exempt: e.Exempt, due: at}, added: now, seq: t.next()}
		s.tried.newer = n
	}
	if e.OnDuplicate == Replace { // others leave an item alone that was tried
		n.again.take(e.Value, at, named, e.Exempt, e.OnDuplicate)
	}
}

// next numbers what is taken in.
func (t *Table[K, V, L]) next() uint64 {
	t.seq++
	return t.seq
}

// fresh makes a slot whose key was not known a waiting one.
func (t *Table[K, V, L]) fresh(s *Slot[K, V, L], e *Entry[K, V], now, at int64) {
	s.replace(e.Value, at, true, e.Exempt)
	s.Added, s.Seq = now, t.next()
	t.become(s, Waiting)
	t.queue(s)
}

// queue puts a waiting slot in order, unless an earlier holder has not ended.
func (t *Table[K, V, L]) queue(s *Slot[K, V, L]) {
	if s.holder == 0 {
		t.owner.Queue(s)
	}
}

func (t *Table[K, V, L]) become(s *Slot[K, V, L], state State) {
	was := s.State
	t.counts[was]--
	t.counts[state]++
	s.State = state
	t.owner.Became(s, was)
}

// empty makes the key of a slot unknown, and what its holder does vain. The slot then holds nothing but that holder.
func (t *Table[K, V, L]) empty(s *Slot[K, V, L]) {
	t.owner.Unqueue(s)
	t.become(s, Unknown)
	*s = Slot[K, V, L]{Key: s.Key, Line: s.Line, holder: s.holder}
}

// Remove makes the key unknown and returns the state in which it found it. While a holder has not ended, the slot stays, so that a new item of the key waits for that.
func (t *Table[K, V, L]) Remove(key K) State {
	s := t.Get(key)
	if s == nil {
		return Unknown
	}
	was := s.State
	if s.holder != 0 {
		t.empty(s)
		return was
	}
	t.owner.Unqueue(s)
	t.become(s, Unknown)
	t.slots.Delete(key, s)
	return was
}

// try returns the slot's tried part, and makes it if need be.
func (s *Slot[K, V, L]) try() *tried[V] {
	if s.tried == nil {
		s.tried = new(tried[V])
	}
	return s.tried
}

// Instant returns what the clock will show at that steady time.
func (t *Table[K, V, L]) Instant(at int64) time.Time { return t.Time.Instant(at) }
