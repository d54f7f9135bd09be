package timedworker

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Work is one try of a piece of work, as the function given to New sees it.
type Work[K comparable, V any] struct {
	Key      K
	Identity string
	Value    V
	// Due is when its turn came.
	Due time.Time
	// Attempts is how many tries failed before this one.
	Attempts int

	try     *try[K, V]
	started uint64
}

// Held says whether the work is still wanted, and so whether its Result will count: false once it was cancelled or
// another identity has taken its key, and after its end. The zero Work is not held.
func (w Work[K, V]) Held() bool {
	t := w.try
	if t == nil {
		return false
	}
	s := t.set
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.running && t.work.started == w.started && !t.void
}

// try is what a Step or a worker of Run has in hand: a piece of work from its start to its end, then the next. But
// for work and result, which belong to who runs it, s.mu guards it.
type try[K comparable, V any] struct {
	set     *Set[K, V]
	work    Work[K, V]
	result  Result
	running bool
	void    bool // cancelled, or another identity took the key: it is not tried again
	number  int32
	place   int   // in Set.running
	asked   int64 // when the work was scheduled to run
	seq     uint64
	next    *queued[V]

	// Of a Step, else zero:
	stands bool           // StepAt was given the time, and reads no clock
	seen   map[K]struct{} // ran in this Step
}

// lock takes s.mu and returns the time, by a new reading of the clock.
func (s *Set[K, V]) lock(t *try[K, V]) int64 {
	if t.stands {
		s.mu.Lock()
		return s.time.Elapsed()
	}
	now := s.read()
	s.mu.Lock()
	return s.tick(now)
}

// advance ends the try in hand, if there is one, and claims what is due first; false when nothing may start now.
// It is all that a Step and a worker do between two pieces of work. What is due by the clock as it was last read is
// due: the clock is read only when nothing is, or when a retry counts from now.
func (s *Set[K, V]) advance(ctx context.Context, t *try[K, V]) bool {
	var now int64
	read := !t.running || !t.result.over()
	if read {
		now = s.lock(t)
	} else {
		s.mu.Lock()
		now = s.time.Elapsed()
	}
	if t.running {
		s.finish(t, now)
	}
	if !read && !s.someDue(t, now) {
		s.mu.Unlock()
		now = s.lock(t)
	}
	defer s.mu.Unlock()
	if ctx.Err() != nil || !s.someDue(t, now) {
		return false
	}
	if s.config.Permission != nil && !s.stillPermitted(now) || !s.someDue(t, now) {
		return false
	}
	s.claim(t, now)
	if s.someDue(t, now) {
		s.rouse()
	} else {
		s.watch() // this work may take long
	}
	return true
}

// someDue says whether something may start by what the Set knows; s.mu is held. What this Step has run already it puts
// aside until its end.
func (s *Set[K, V]) someDue(t *try[K, V], now int64) bool {
	for {
		i, due, ok := s.due.Min()
		if !ok || due > now || len(s.pauses) > 0 {
			return false
		}
		if len(t.seen) == 0 {
			return true
		}
		if _, ran := t.seen[s.index.Key(i)]; !ran {
			return true
		}
		s.moveFirst(&s.due, &s.aside)
	}
}

// claim takes what is due first in hand; s.mu is held.
func (s *Set[K, V]) claim(t *try[K, V], now int64) {
	i, due, _ := s.due.Min()
	t.seq = s.due.Seq(i)
	s.due.Remove(i) // first: what is read then, of record and key, does not wait for each other
	r := s.records.At(i)
	s.started++
	t.number, t.running, t.void = i, true, false
	t.work = Work[K, V]{Key: s.index.Key(i), Identity: r.identity, Value: r.value, Due: s.time.Instant(due), try: t, started: s.started}
	t.asked = due
	if r.tried != nil {
		t.asked, t.work.Attempts = r.tried.asked, r.tried.attempts
	}
	t.place = len(s.running)
	s.running = append(s.running, t)
	r.holder = int32(len(s.running))
	s.counts.LastLateness = time.Duration(steady.Sub(now, due))
	s.counts.MaxLateness = max(s.counts.MaxLateness, s.counts.LastLateness)
	if t.seen != nil {
		t.seen[t.work.Key] = struct{}{}
	}
}

// finish ends the try in hand; s.mu is held. What was queued behind the work takes its place, unless the same
// work is to be tried again and the policy of what was queued keeps that.
func (s *Set[K, V]) finish(t *try[K, V], now int64) {
	s.release(t)
	s.count(t, now)
	r := s.records.At(t.number)
	r.holder = 0
	key := t.work.Key
	t.work = Work[K, V]{} // or an idle worker would keep the value
	over := t.void || t.result.over()
	if next := t.next; next != nil {
		t.next = nil
		if over || next.supersedes(t.asked) {
			s.put(t.number, next.record, next.due, next.seq)
			return
		}
	}
	if over {
		s.forget(key, t.number)
		return
	}
	r.endure(t.asked, t.result)
	s.enqueue(t.number, steady.Add(now, t.result.after), t.seq)
}

// release takes the try out of running.
func (s *Set[K, V]) release(t *try[K, V]) {
	last := s.running[len(s.running)-1]
	s.running[t.place], last.place = last, t.place
	s.records.At(last.number).holder = int32(t.place) + 1
	s.running[len(s.running)-1] = nil
	s.running = s.running[:len(s.running)-1]
	t.running = false
}

// supersedes says whether what was queued takes the place of running work that is to be tried again.
func (q *queued[V]) supersedes(asked int64) bool { return !q.policy.keeps(asked, q.due) }

// endure notes a try that did not end the work.
func (r *record[V]) endure(asked int64, result Result) {
	if r.tried == nil {
		r.tried = &tried{}
	}
	r.tried.asked = asked
	if result.outcome != blocked {
		r.tried.attempts++
	}
	if result.err != nil {
		r.tried.err = result.err
	}
}
