package ratelimitqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// life is a subject that lives on after it was stopped, and one that was restored from it on another clock.
type life struct {
	testing.TB
	*seededChoices
	setup     setup
	monotonic bool // the first one's clock
	first     *subject
	second    *subject                            // nil before the stop
	held      [][2]GroupItem[string, string, int] // by the first, by the second
	value     int
}

// each calls f for each subject there is.
func (l *life) each(f func(n int, s *subject)) {
	f(0, l.first)
	if l.second != nil {
		f(1, l.second)
	}
}

// agree fails when both did not answer the same.
func agree[T comparable](l *life, what string, answers [2]T) {
	if l.second != nil && answers[0] != answers[1] {
		l.Helper()
		l.Fatalf("%s: %v, after the restart %v", what, answers[0], answers[1])
	}
}

// from is an instant as it lies from the subject's now.
func (s *subject) from(t time.Time) time.Time { return epoch.Add(t.Sub(s.clk.Now())) }

func (l *life) somewhat() time.Duration {
	return time.Duration(l.below(1<<30)) * time.Duration(1+l.below(8))
}

func (l *life) operation() {
	switch l.below(12) {
	case 0, 1, 2:
		l.add()
	case 3, 4:
		l.take()
	case 5, 6:
		l.end()
	case 7, 8:
		d := l.somewhat()
		l.each(func(_ int, s *subject) { s.clk.Pass(d) })
		if l.monotonic && l.below(8) == 0 {
			l.first.clk.Set(time.Duration(l.below(100)-50) * time.Hour) // which means nothing
		}
	case 9:
		key, identity := pick(l, keyNames...), pick(l, "", "", "x", "y")
		var results [2]RemoveResult
		l.each(func(n int, s *subject) { results[n] = s.core().RemoveIdentity(key, identity) })
		agree(l, "remove", results)
	case 10:
		l.brake()
	case 11:
		l.moveOrForget()
	}
}

func (l *life) add() {
	l.value++
	e := GroupEntry[string, string, int]{
		Domain: pick(l, domainNames...), Key: pick(l, keyNames...), Value: l.value, Identity: pick(l, "", "", "x", "y"),
		OnDuplicate: Duplicate(l.below(3)), WhileInFlight: WhileInFlight(l.below(5) / 4), Exempt: l.below(6) == 0,
	}
	in, late := l.somewhat()-time.Second, l.below(2) == 0
	var results [2]AddResult
	l.each(func(n int, s *subject) {
		if late {
			e.Due = s.clk.Now().Add(in)
		}
		results[n] = s.add(e)
	})
	agree(l, "add", results)
}

func (l *life) take() {
	var items [2]GroupItem[string, string, int]
	var told [2]GroupItem[string, string, int]
	l.each(func(n int, s *subject) {
		it, ok := s.take()
		if !ok {
			return
		}
		items[n] = it
		told[n] = it
		told[n].Item = Item[string, int]{Key: it.Key, Value: it.Value, Identity: it.Identity, Added: s.from(it.Added), Due: s.from(it.Due), Attempts: it.Attempts}
	})
	agree(l, "taken", told)
	if items[0].Key != "" {
		l.held = append(l.held, items)
	}
}

func (l *life) end() {
	if len(l.held) == 0 {
		return
	}
	i := l.below(len(l.held))
	items, how, after, final := l.held[i], l.below(6), l.somewhat(), l.below(3) == 0
	l.held[i] = l.held[len(l.held)-1]
	l.held = l.held[:len(l.held)-1]
	err := errors.New("no luck")
	if final {
		err = Final(err)
	}
	var ended [2]Ended
	l.each(func(n int, _ *subject) {
		it := items[n].Item
		ended[n] = []func() Ended{
			it.Done, it.Keep, it.Drop, func() Ended { return it.RetryAfter(after) },
			func() Ended { return it.Fail(err) }, func() Ended { return it.Blocked(after) },
		}[how]()
	})
	agree(l, "ended", ended)
}

func (l *life) brake() {
	domain, rate := pick(l, domainNames...), pick(l, 0.1, 0.37, 1000.0/7, 0, Unlimited, 1.0/3)
	what, reason := l.below(4), pick(l, "storm", "drill")
	l.each(func(_ int, s *subject) {
		switch what {
		case 0:
			s.core().Pause(reason)
		case 1, 2:
			s.core().Resume(reason)
		case 3:
			require.NoError(l, s.setRate(domain, rate))
		}
	})
}

func (l *life) moveOrForget() {
	what, clears, key, domain := l.below(6), l.below(4) == 0, pick(l, keyNames...), pick(l, domainNames...)
	l.each(func(_ int, s *subject) {
		switch {
		case what == 0 && clears:
			s.core().Clear()
		case s.g == nil:
		case what == 1:
			s.g.PauseDomain(domain, "own")
		case what == 2:
			s.g.ResumeDomain(domain, "own")
		case what == 3:
			s.g.ForgetDomain(domain)
		default:
			s.g.Move(key, domain)
		}
	})
}

// stop makes a second subject of the first one's snapshot. The first one's holders all say "retry now".
func (l *life) stop() {
	text := l.first.stop(l)
	for _, items := range l.held {
		items[0].Blocked(0)
	}
	l.held = nil
	l.second = l.setup.make(l, epoch.Add(time.Duration(l.below(1000)-500)*time.Hour), l.below(2) == 0)
	require.NoError(l, l.second.restore(text))
}

func (l *life) compare() {
	for _, key := range keyNames {
		var told [2]GroupStatus[string, int]
		l.each(func(n int, s *subject) {
			st, _ := s.get(key)
			st.Added, st.Due = s.from(st.Added), s.from(st.Due)
			st.LastError = nil // it is for people
			if st.State == 0 {
				st = GroupStatus[string, int]{}
			}
			told[n] = st
		})
		agree(l, "status", told)
	}
	var next [2]time.Time
	l.each(func(n int, s *subject) {
		if at, ok := s.core().Next(); ok {
			next[n] = s.from(at)
		}
	})
	agree(l, "next", next)
}

// A snapshot is the whole of a queue or a group: what was restored from it, on another clock, decides from then on as
// the one that went on, whose holders all ended with Blocked(0).
func TestStoppedAndRestoredLives(t *testing.T) {
	lives := uint64(10_000)
	if testing.Short() {
		lives = 1_000
	}
	for _, isQueue := range []bool{true, false} {
		for seed := range lives {
			l := &life{TB: t, seededChoices: &seededChoices{state: seed * 104729}}
			l.setup = setup{queue: isQueue, rate: pick(l, 0.1, 0.37, 3.3, 1e3/7, Unlimited, Stopped), burst: pick(l, 1, 1, 4)}
			if !isQueue {
				l.setup.maxRate, l.setup.maxInFlight, l.setup.prefer = pick(l, 0, 0, 0.7, 11), pick(l, 0, 0, 3), l.below(4) == 0
			}
			l.monotonic = l.below(2) == 0
			l.first = l.setup.make(t, epoch, l.monotonic)
			before, after := l.below(60), 30
			for range before {
				l.operation()
			}
			l.stop()
			for range after {
				l.compare()
				l.operation()
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}
