package timedworker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
)

// ratelimitqueue and timedworker share one vocabulary, a table in the doc.go of each. For every word there is a story
// here, which is played on both. Both must do the same, or what the tables say about a difference.

// entry is an Entry of either package.
type entry struct {
	key           string
	value         int
	in            time.Duration // until it is due; 0 means no due time
	identity      string
	onDuplicate   uint8
	whileInFlight uint8
}

// The policies have the same values in both.
const (
	keepFirst    = uint8(ratelimitqueue.KeepFirst)
	keepEarliest = uint8(ratelimitqueue.KeepEarliest)
	replace      = uint8(ratelimitqueue.Replace)
	ignore       = uint8(ratelimitqueue.Ignore)
)

func TestPoliciesHaveTheSameValues(t *testing.T) {
	require.Equal(t, []timedworker.Duplicate{timedworker.KeepFirst, timedworker.KeepEarliest, timedworker.Replace},
		[]timedworker.Duplicate{timedworker.Duplicate(keepFirst), timedworker.Duplicate(keepEarliest), timedworker.Duplicate(replace)})
	require.Equal(t, []timedworker.WhileInFlight{timedworker.Again, timedworker.Ignore}, []timedworker.WhileInFlight{0, timedworker.WhileInFlight(ignore)})
	require.Zero(t, timedworker.KeepFirst)
	require.Zero(t, ratelimitqueue.KeepFirst)
	require.Zero(t, ratelimitqueue.Again)
}

// outcome is how a holder ends its item.
type outcome struct {
	word string
	d    time.Duration
	err  error
}

// held is what a holder works on.
type held struct {
	key, identity   string
	value, attempts int
	due             time.Duration
	held            func() bool
}

// status is a Status of either package.
type status struct {
	inFlight  bool
	value     int
	identity  string
	due       time.Duration // while it waits
	attempts  int
	lastError error
}

// stats is a Stats of either package.
type stats struct {
	waiting, inFlight               int
	added, begun                    uint64
	done, dropped, retried, blocked uint64
	panicked                        uint64
	lastLateness, maxLateness       time.Duration
	lastError                       error
	lastErrorAt                     time.Duration
}

// options are the fields that both Configs have.
type options struct {
	onError func(key any, err error)
	onPanic func(key, value any, stack []byte)
	jitter  func(time.Duration) time.Duration
}

// machine is either of the two. It keeps a diary of what is handed out.
type machine struct {
	*testing.T
	clock *testingclock.FakeClock
	lines []string
	name  string

	add    func(entry)
	remove func(key, identity string) string
	work   func(func(held) outcome) // on everything that is due
	get    func(key string) (status, bool)
	len    func() int
	next   func() (time.Time, bool)
	wait   func() time.Duration
	stats  func() stats
	pause  func(reason string)
	resume func(reason string) bool
	paused func() []string
	clear  func()
	addAt  func(entry, time.Time)
	nextAt func(time.Time) (time.Time, bool)

	// Each only in one of the two.
	waiting  func() []string
	snapshot func() timedworker.Snapshot[string, int]
	restore  func(timedworker.Snapshot[string, int]) error
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *machine) note(format string, args ...any) {
	m.lines = append(m.lines, fmt.Sprint(m.clock.Since(epoch), " ", fmt.Sprintf(format, args...)))
}

// turn works on everything that is due and ends each item as end says.
func (m *machine) turn(end func(held) outcome) {
	m.work(func(h held) outcome {
		require.Less(m, len(m.lines), 100, "no end to it")
		m.note("%s%s=%d try %d", h.key, h.identity, h.value, h.attempts+1)
		return end(h)
	})
}

// turns is one turn in each second.
func (m *machine) turns(seconds int, end func(held) outcome) {
	for range seconds {
		m.clock.Step(time.Second)
		m.turn(end)
	}
}

func ends(word string) func(held) outcome { return func(held) outcome { return outcome{word: word} } }

// first ends the first item with that outcome, and the others as done.
func first(o outcome, meanwhile func(held)) func(held) outcome {
	began := false
	return func(h held) outcome {
		if began {
			return outcome{word: "Done"}
		}
		began = true
		meanwhile(h)
		return o
	}
}

// dueTime returns the zero time for "now".
func (m *machine) dueTime(e entry) time.Time {
	if e.in == 0 {
		return time.Time{}
	}
	return m.clock.Now().Add(e.in)
}

func sinceEpoch(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return at.Sub(epoch)
}

// The backoff that Retry uses in the stories.
const initial, factor = time.Second, 3

func queueOf(t *testing.T, o options) *machine {
	m := &machine{T: t, clock: testingclock.NewFakeClock(epoch), name: "ratelimitqueue"}
	q, err := ratelimitqueue.New[string, int](ratelimitqueue.Config{
		Rate: ratelimitqueue.Unlimited, Clock: m.clock, OnError: o.onError, OnPanic: o.onPanic,
		Backoff: ratelimitqueue.Backoff{Initial: initial, Factor: factor, Jitter: o.jitter},
	})
	require.NoError(t, err)
	entryOf := func(e entry) ratelimitqueue.Entry[string, int] {
		return ratelimitqueue.Entry[string, int]{
			Key: e.key, Value: e.value, Due: m.dueTime(e), Identity: e.identity,
			OnDuplicate: ratelimitqueue.Duplicate(e.onDuplicate), WhileInFlight: ratelimitqueue.WhileInFlight(e.whileInFlight),
		}
	}
	m.add = func(e entry) { q.AddEntry(entryOf(e)) }
	m.addAt = func(e entry, now time.Time) { q.AddEntryAt(entryOf(e), now) }
	m.remove = func(key, identity string) string {
		return map[ratelimitqueue.RemoveResult]string{
			ratelimitqueue.Removed: "gone", ratelimitqueue.RemovedInFlight: "in flight", ratelimitqueue.NotFound: "not found", ratelimitqueue.OtherIdentity: "other identity",
		}[q.RemoveIdentity(key, identity)]
	}
	m.work = func(work func(held) outcome) {
		for item, ok := q.Take(); ok; item, ok = q.Take() {
			o := work(held{item.Key, item.Identity, item.Value, item.Attempts, sinceEpoch(item.Due), item.Held})
			switch o.word {
			case "Drop":
				item.Drop()
			case "Keep":
				item.Keep()
			case "Retry":
				item.Retry()
			case "RetryAfter":
				item.RetryAfter(o.d)
			case "Blocked":
				item.Blocked(o.d)
			case "Fail":
				item.Fail(o.err)
			default:
				item.Done()
			}
		}
	}
	m.get = func(key string) (status, bool) {
		st, ok := q.Get(key)
		s := status{st.State == ratelimitqueue.StateInFlight, st.Value, st.Identity, 0, st.Attempts, st.LastError}
		if st.State == ratelimitqueue.StateWaiting {
			s.due = sinceEpoch(st.Due)
		}
		return s, ok
	}
	m.stats = func() stats {
		s := q.Stats()
		return stats{s.Waiting, s.InFlight, s.Added, s.HandedOut, s.Done, s.Dropped, s.Retried, s.Blocked, s.Panicked, s.LastLateness, s.MaxLateness, s.LastError, sinceEpoch(s.LastErrorAt)}
	}
	m.len, m.next, m.nextAt, m.wait = q.Len, q.Next, q.NextAt, q.Wait
	m.pause, m.resume, m.paused, m.clear = q.Pause, q.Resume, q.Paused, q.Clear
	m.waiting = q.Waiting
	return m
}

func setOf(t *testing.T, o options) *machine {
	m := &machine{T: t, clock: testingclock.NewFakeClock(epoch), name: "timedworker"}
	var work func(held) outcome
	s, err := timedworker.New(func(_ context.Context, w timedworker.Work[string, int]) timedworker.Result {
		switch o := work(held{w.Key, w.Identity, w.Value, w.Attempts, sinceEpoch(w.Due), w.Held}); o.word {
		case "Drop":
			return timedworker.Drop()
		case "Retry":
			return timedworker.Retry()
		case "RetryAfter":
			return timedworker.RetryAfter(o.d)
		case "Blocked":
			return timedworker.Blocked(o.d)
		case "Fail":
			return timedworker.Fail(o.err)
		}
		return timedworker.Done()
	}, timedworker.Config{
		Clock: m.clock, OnError: o.onError, OnPanic: o.onPanic,
		Backoff: timedworker.Backoff{Initial: initial, Factor: factor, Jitter: o.jitter},
	})
	require.NoError(t, err)
	entryOf := func(e entry) timedworker.Entry[string, int] {
		return timedworker.Entry[string, int]{
			Key: e.key, Value: e.value, Due: m.dueTime(e), Identity: e.identity,
			OnDuplicate: timedworker.Duplicate(e.onDuplicate), WhileInFlight: timedworker.WhileInFlight(e.whileInFlight),
		}
	}
	m.add = func(e entry) { s.ScheduleEntry(entryOf(e)) }
	m.addAt = func(e entry, now time.Time) { s.ScheduleEntryAt(entryOf(e), now) }
	m.remove = func(key, identity string) string {
		return map[timedworker.CancelResult]string{
			timedworker.Cancelled: "gone", timedworker.Running: "in flight", timedworker.NotFound: "not found", timedworker.OtherIdentity: "other identity",
		}[s.CancelIdentity(key, identity)]
	}
	m.work = func(does func(held) outcome) {
		work = does
		for ran := -1; ran != 0; {
			ran, err = s.Step(context.Background())
			require.NoError(m, err)
		}
	}
	m.get = func(key string) (status, bool) {
		st, ok := s.Get(key)
		return status{st.Running, st.Value, st.Identity, sinceEpoch(st.Due), st.Attempts, st.LastError}, ok
	}
	m.stats = func() stats {
		s := s.Stats()
		return stats{s.Waiting, s.Running, s.Added, s.Started, s.Done, s.Dropped, s.Retried, s.Blocked, s.Panicked, s.LastLateness, s.MaxLateness, s.LastError, sinceEpoch(s.LastErrorAt)}
	}
	m.len, m.next, m.nextAt, m.wait = s.Len, s.Next, s.NextAt, s.Wait
	m.pause, m.resume, m.paused, m.clear = s.Pause, s.Resume, s.Paused, s.Clear
	m.snapshot = s.Snapshot
	m.restore = s.Restore
	return m
}

// wordsOf reads the table of words in a package's documentation.
func wordsOf(t *testing.T, pkg string) (words []string, only map[string]bool) {
	text, err := os.ReadFile(filepath.Join("..", pkg, "doc.go"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "// # Words\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n// # ")
	only = map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		row, isRow := strings.CutPrefix(line, "//\t")
		if !isRow || strings.HasPrefix(row, " ") {
			continue
		}
		cells := regexp.MustCompile(` {2,}`).Split(row, 2)
		require.Len(t, cells, 2, row)
		words = append(words, cells[0])
		only[cells[0]] = strings.Contains(row, "(only here)")
	}
	require.Greater(t, len(words), 10)
	return words[1:], only // without the header row
}
