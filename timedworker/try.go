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
	// Due is when this try was due.
	Due time.Time
	// Attempts is how many earlier tries failed.
	Attempts int

	try     *try[K, V]
	started uint64
}

// Held reports whether the work is still wanted, and so whether its Result will take effect: false once it was cancelled
// or another identity has taken its key, and after its end. The zero Work is not held.
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

// try is the current work of a Step or of one of Run's workers, which reuses it for the next. Its work and result belong
// to the goroutine that runs it; s.mu guards the rest.
type try[K comparable, V any] struct {
	set     *Set[K, V]
	work    Work[K, V]
	result  Result
	running bool
	void    bool // cancelled, or another identity took the key: it is not tried again
	record  *record[K, V]
	next    *queued[V]
	idle    bool // counted in Set.idle; only of a worker

	// Only of a Step:
	stands bool // StepAt was given the time, so the clock is not read
	steps  bool
	since  uint64         // what was scheduled later may have run in this Step before
	ran    []K            // the keys that ran in this Step, except those in seen
	seen   map[K]struct{} // the first of them, made when it must be known
}

// hasRun reports whether the key ran in this Step.
func (t *try[K, V]) hasRun(key K) bool {
	if t.seen == nil {
		t.seen = make(map[K]struct{}, len(t.ran))
	}
	for _, one := range t.ran {
		t.seen[one] = struct{}{}
	}
	t.ran = t.ran[:0]
	_, ran := t.seen[key]
	return ran
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

// advance ends the current try, if there is one, and claims what is due first; false if nothing may start now, and then a
// worker rests. It is all that a Step or a worker does between two pieces of work. To save readings, the clock is read only
// before the first try, when nothing is due by the last reading, or when a retry counts from now.
func (s *Set[K, V]) advance(ctx context.Context, t *try[K, V]) bool {
	var now int64
	read := !t.running || !t.result.over()
	if read {
		now = s.lock(t)
	} else {
		s.mu.Lock()
		now = s.time.Elapsed()
	}
	s.stir(t)
	if t.running {
		s.finish(t, now)
	}
	due := s.someDue(t, now)
	if !due && !read {
		s.mu.Unlock()
		now = s.lock(t)
		due = s.someDue(t, now)
	}
	defer s.mu.Unlock()
	if !due || ctx.Err() != nil {
		if !t.steps {
			s.rest(t)
		}
		return false
	}
	s.claim(t, now)
	switch {
	case s.idle == 0: // a worker that ends its work looks for itself
	case s.someDue(t, now):
		s.wakeWorker()
	default:
		s.watch() // this work may take long
	}
	return true
}

// someDue reports whether something is due and nothing is paused. It puts aside, until the end of the Step, what this Step
// has run already. s.mu is held.
func (s *Set[K, V]) someDue(t *try[K, V], now int64) bool {
	for {
		r, due, ok := s.due.Min()
		if !ok || due > now || len(s.pauses) > 0 {
			return false
		}
		if !t.steps || r.seq <= t.since && r.tried == nil || !t.hasRun(r.key) {
			return true
		}
		s.putAside(r, true)
	}
}

// claim makes what is due first the current try. s.mu is held.
func (s *Set[K, V]) claim(t *try[K, V], now int64) {
	r, due, _ := s.due.Min()
	s.due.Remove(&r.place)
	s.running++
	s.started++
	r.try, t.record, t.running, t.void = t, r, true, false
	t.work = Work[K, V]{Key: r.key, Identity: r.identity, Value: r.value, Due: s.time.Instant(due), try: t, started: s.started}
	if r.tried != nil {
		t.work.Attempts = r.tried.attempts
	}
	s.counts.LastLateness = time.Duration(steady.Sub(now, due))
	s.counts.MaxLateness = max(s.counts.MaxLateness, s.counts.LastLateness)
	if t.steps {
		t.ran = append(t.ran, t.work.Key)
	}
}

// finish ends the current try. Work that was queued behind it takes its place, unless it is to be retried and the queued
// entry's policy keeps it. s.mu is held.
func (s *Set[K, V]) finish(t *try[K, V], now int64) {
	s.count(t, now)
	s.running--
	r, next, over := t.record, t.next, t.void || t.result.over()
	r.try, t.record, t.next, t.running = nil, nil, nil, false
	t.work = Work[K, V]{} // so that an idle worker does not keep the value alive
	switch {
	case next != nil && (over || next.supersedes(r.asked())):
		r.task = next.task
	case over:
		s.records.Delete(r.key, r)
		return
	default:
		r.endure(t.result)
		r.due = steady.Add(now, t.result.after)
	}
	s.enqueue(r)
}

// supersedes reports whether the queued work takes the place of running work that is to be retried.
func (q *queued[V]) supersedes(asked int64) bool { return !q.policy.keeps(asked, q.due) }

// endure notes a try that did not end the work.
func (w *task[V]) endure(result Result) {
	if w.tried == nil {
		w.tried = &tried{asked: w.due}
	}
	if result.outcome != blocked {
		w.tried.attempts++
	}
	if result.err != nil {
		w.tried.err = result.err
	}
}
