package timedworker_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
)

// wants compares the diary and starts a new one.
func (m *machine) wants(lines ...string) {
	m.Helper()
	require.Equal(m, lines, m.lines)
	m.lines = nil
}

// story is played for one word.
type story func(make func(options) *machine)

func TestEachWordDoesTheSame(t *testing.T) {
	ours := map[string]func(*testing.T, options) *machine{"ratelimitqueue": queueOf, "timedworker": setOf}
	stories := map[string]story{
		"Entry":             storyOfEntry,
		"Due":               storyOfDue,
		"Identity":          storyOfIdentity,
		"place":             storyOfPlace,
		"OnDuplicate":       storyOfOnDuplicate,
		"in flight":         storyOfInFlight,
		"WhileInFlight":     storyOfWhileInFlight,
		"Done":              storyOfEnd("Done"),
		"Drop":              storyOfEnd("Drop"),
		"Keep":              storyOfKeep,
		"Retry":             storyOfRetry,
		"RetryAfter(d)":     storyOfRetryAfter,
		"Blocked(d)":        storyOfBlocked,
		"Fail(err)":         storyOfFail,
		"Held":              storyOfHeld,
		"Pause, Resume":     storyOfPause,
		"Rate":              storyOfRate,
		"Get":               storyOfGet,
		"Len":               storyOfLen,
		"Next, Wait":        storyOfNext,
		"Stats":             storyOfStats,
		"Snapshot, Restore": storyOfSnapshot,
		"Waiting":           storyOfWaiting,
		"Clear":             storyOfClear,
		"…At(now)":          storyOfAt,
	}
	said, told := map[string][]string{}, map[string]bool{}
	for pkg, machineOf := range ours {
		words, only := wordsOf(t, pkg)
		for _, word := range words {
			require.Contains(t, stories, word, "a word of %s without a story", pkg)
			told[word] = true
			t.Run(pkg+"/"+word, func(t *testing.T) {
				stories[word](func(o options) *machine { return machineOf(t, o) })
			})
			if !only[word] {
				said[pkg] = append(said[pkg], word)
			}
		}
	}
	require.Equal(t, said["ratelimitqueue"], said["timedworker"], "the tables have the same words")
	require.Len(t, stories, len(told), "stories of words that are in no table")
}

func nothing(held) {}

func storyOfEntry(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a", value: 1})
	m.turn(ends("Done"))
	m.turns(3, ends("Done"))
	m.wants("0s a=1 try 1")
}

func storyOfDue(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "late", in: 2 * time.Second})
	m.add(entry{key: "now"})
	m.add(entry{key: "too", in: time.Second})
	m.add(entry{key: "and", in: time.Second})
	m.add(entry{key: "past", in: -time.Hour})
	m.turn(ends("Done"))
	m.turns(3, ends("Done"))
	m.wants("0s past=0 try 1", "0s now=0 try 1", "1s too=0 try 1", "1s and=0 try 1", "2s late=0 try 1")
}

func storyOfIdentity(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a", value: 1, in: time.Second})
	m.add(entry{key: "a", value: 2, identity: "/1"})
	require.Equal(m, "other identity", m.remove("a", "/2"), "it was learned, though the policy keeps the rest")
	m.add(entry{key: "a", value: 3})
	require.Equal(m, "other identity", m.remove("a", "/2"), "none erases none")
	require.Equal(m, "gone", m.remove("a", ""), "none never differs")

	m.add(entry{key: "a", value: 1, identity: "/1", in: time.Second})
	m.turns(1, ends("Retry"))
	m.add(entry{key: "a", value: 2, identity: "/2", onDuplicate: keepFirst})
	m.turn(ends("Done"))
	m.wants("1s a/1=1 try 1", "1s a/2=2 try 1")

	for _, o := range []outcome{{word: "Done"}, {word: "Retry"}} { // it also takes over a key in flight
		m.add(entry{key: "a", value: 1, identity: "/1"})
		m.turn(first(o, func(h held) {
			m.add(entry{key: "a", value: 2, identity: "/2", whileInFlight: ignore})
			m.add(entry{key: "a", value: 3, identity: "/2", whileInFlight: ignore})
			require.False(m, h.held())
			require.Equal(m, "other identity", m.remove("a", "/3"))
		}))
		m.turns(9, ends("Done"))
		m.lines = append(m.lines, "")
	}
	m.wants("1s a/1=1 try 1", "1s a/2=2 try 1", "", "10s a/1=1 try 1", "10s a/2=2 try 1", "")

	m.add(entry{key: "a", value: 1, identity: "/1"})
	m.turn(first(outcome{word: "Retry"}, func(h held) { // it is removed, and the old one does not come back
		m.add(entry{key: "a", value: 2, identity: "/2"})
		require.Equal(m, "gone", m.remove("a", "/2"))
		require.False(m, h.held())
	}))
	m.turns(9, ends("Done"))
	m.wants("19s a/1=1 try 1")
}

func storyOfOnDuplicate(make func(options) *machine) {
	for _, row := range []struct {
		policy uint8
		in     time.Duration
		want   string
	}{
		{keepFirst, time.Second, "5s a=1 try 1"}, {keepEarliest, 6 * time.Second, "5s a=1 try 1"}, {keepEarliest, 5 * time.Second, "5s a=1 try 1"},
		{keepEarliest, time.Second, "1s a=2 try 1"}, {replace, 6 * time.Second, "6s a=2 try 1"}, {replace, 5 * time.Second, "5s a=2 try 1"},
	} {
		m := make(options{})
		m.add(entry{key: "a", value: 1, in: 5 * time.Second})
		m.add(entry{key: "a", value: 2, in: row.in, onDuplicate: row.policy})
		m.turns(9, ends("Done"))
		m.wants(row.want)
	}
	for policy, want := range map[uint8]string{keepFirst: "8s a=1 try 2", keepEarliest: "8s a=1 try 2", replace: "2s a=2 try 2"} { // after a try
		m := make(options{})
		m.add(entry{key: "a", value: 1, in: time.Second})
		m.turns(1, func(held) outcome { return outcome{word: "RetryAfter", d: 7 * time.Second} })
		m.add(entry{key: "a", value: 2, in: time.Second, onDuplicate: policy})
		m.turns(9, ends("Done"))
		m.wants("1s a=1 try 1", want)
	}
}

func storyOfPlace(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.turn(func(held) outcome { return outcome{word: "RetryAfter", d: 2 * time.Second} })
	m.add(entry{key: "b", in: time.Second})
	m.add(entry{key: "c", in: 2 * time.Second})
	m.add(entry{key: "d", in: 2 * time.Second})
	m.add(entry{key: "b", in: 2 * time.Second, onDuplicate: replace})
	m.add(entry{key: "c", in: 2 * time.Second, onDuplicate: replace})
	m.turns(3, ends("Done"))
	m.wants("0s a=0 try 1", "2s a=0 try 2", "2s b=0 try 1", "2s c=0 try 1", "2s d=0 try 1")

	m.add(entry{key: "a"})
	m.add(entry{key: "b", in: time.Second})
	m.turn(func(held) outcome { return outcome{word: "RetryAfter", d: time.Second} })
	m.turns(3, ends("Done"))
	m.wants("3s a=0 try 1", "4s a=0 try 2", "4s b=0 try 1")
}

func storyOfInFlight(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.turn(first(outcome{word: "Done"}, func(h held) {
		s := m.stats()
		require.Equal(m, []int{0, 1}, []int{s.waiting, s.inFlight})
		require.True(m, h.held())
		st, _ := m.get("a")
		require.True(m, st.inFlight)
		_, some := m.next()
		require.False(m, some)
		require.Equal(m, "in flight", m.remove("a", ""))
		m.add(entry{key: "a", value: 2})
		require.Equal(m, 1, m.stats().inFlight, "one at a time")
	}))
	m.turn(ends("Done"))
	m.wants("0s a=0 try 1", "0s a=2 try 1")
	require.Zero(m, m.stats().inFlight)
}

func storyOfWhileInFlight(make func(options) *machine) {
	again := []outcome{{word: "Done"}, {word: "Drop"}, {word: "Fail", err: ratelimitqueue.Final(errPlayed)}}
	later := []outcome{{word: "Retry"}, {word: "RetryAfter", d: time.Second}, {word: "Blocked", d: time.Second}, {word: "Fail", err: errPlayed}}
	play := func(o outcome, policy, while uint8, in time.Duration) []string {
		m := make(options{})
		m.add(entry{key: "a", value: 1})
		m.turn(first(o, func(held) {
			m.add(entry{key: "a", value: 2, onDuplicate: policy, whileInFlight: while})
			m.add(entry{key: "a", value: 3, in: in, onDuplicate: policy, whileInFlight: while})
		}))
		m.turns(9, ends("Done"))
		require.Equal(m, "0s a=1 try 1", m.lines[0])
		return m.lines[1:]
	}
	try := func(o outcome, value string) string {
		if o.word == "Blocked" {
			return value + " try 1"
		}
		return value + " try 2"
	}
	t := make(options{})
	for _, policy := range []uint8{keepFirst, keepEarliest, replace} {
		for _, o := range again {
			require.Equal(t, []string{"3s a=3 try 1"}, play(o, policy, 0, 3*time.Second), o)
			require.Empty(t, play(o, policy, ignore, 3*time.Second), o)
		}
		for _, o := range later {
			require.Equal(t, []string{try(o, "1s a=1")}, play(o, policy, ignore, 3*time.Second), o)
		}
	}
	for _, o := range later {
		require.Equal(t, []string{try(o, "1s a=1")}, play(o, keepFirst, 0, -time.Second), o)
		require.Equal(t, []string{try(o, "1s a=1")}, play(o, keepEarliest, 0, 3*time.Second), o)
	}
}

func storyOfEnd(word string) story {
	return func(make func(options) *machine) {
		m := make(options{})
		m.add(entry{key: "a", value: 1})
		m.turn(ends(word))
		_, known := m.get("a")
		require.False(m, known)
		require.Equal(m, "not found", m.remove("a", ""))
		s := m.stats()
		require.Equal(m, map[string][2]uint64{"Done": {1, 0}, "Drop": {0, 1}}[word], [2]uint64{s.done, s.dropped})
		m.add(entry{key: "a", value: 2})
		m.turn(ends(word))
		m.wants("0s a=1 try 1", "0s a=2 try 1")
	}
}

func storyOfKeep(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a", value: 1})
	m.turn(first(outcome{word: "Keep"}, func(held) { m.add(entry{key: "a", value: 2}) }))
	m.add(entry{key: "a", value: 3})
	m.turns(9, ends("Done"))
	require.Equal(m, "gone", m.remove("a", ""))
	m.add(entry{key: "a", value: 4})
	m.turn(ends("Done"))
	m.wants("0s a=1 try 1", "9s a=4 try 1")
	require.EqualValues(m, 2, m.stats().done)
}

func storyOfRetry(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.turn(ends("Retry"))
	m.turns(20, ends("Retry"))
	m.wants("0s a=0 try 1", "1s a=0 try 2", "4s a=0 try 3", "13s a=0 try 4")
	require.EqualValues(m, 4, m.stats().retried)
	m = make(options{jitter: func(d time.Duration) time.Duration { return 2 * d }})
	m.add(entry{key: "a"})
	m.turn(ends("Retry"))
	m.turns(4, ends("Retry"))
	m.wants("0s a=0 try 1", "2s a=0 try 2")
}

func storyOfRetryAfter(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.turn(first(outcome{word: "RetryAfter", d: -time.Hour}, nothing))
	m.add(entry{key: "b"})
	after := func(held) outcome { return outcome{word: "RetryAfter", d: 3 * time.Second} }
	m.turn(after)
	m.turns(6, after)
	m.wants("0s a=0 try 1", "0s a=0 try 2", "0s b=0 try 1", "3s b=0 try 2", "6s b=0 try 3")
	require.EqualValues(m, 4, m.stats().retried)
}

func storyOfBlocked(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.turn(first(outcome{word: "Blocked", d: -time.Hour}, nothing))
	m.add(entry{key: "b"})
	m.turn(func(held) outcome { return outcome{word: "Blocked", d: 3 * time.Second} })
	m.turns(3, ends("Retry"))
	m.turns(1, ends("Done"))
	m.wants("0s a=0 try 1", "0s a=0 try 1", "0s b=0 try 1", "3s b=0 try 1", "4s b=0 try 2")
	s := m.stats()
	require.Equal(m, []uint64{2, 1, 2}, []uint64{s.blocked, s.retried, s.done})
}

var errPlayed = errors.New("played")

func storyOfFail(make func(options) *machine) {
	var told []any
	m := make(options{onError: func(key any, err error) { told = append(told, key, err) }})
	require.Equal(m, ratelimitqueue.Final(nil), timedworker.Final(nil))
	for _, final := range []error{ratelimitqueue.Final(errPlayed), timedworker.Final(errPlayed)} { // one mark for both
		errs := []error{errPlayed, nil}
		m.add(entry{key: "a"})
		m.add(entry{key: "b"})
		fail := func(h held) outcome {
			if h.key == "b" {
				return outcome{word: "Fail", err: final}
			}
			err := errs[0]
			errs = errs[1:]
			return outcome{word: "Fail", err: err}
		}
		told = nil
		m.turn(fail)
		st, _ := m.get("a")
		require.Equal(m, errPlayed, st.lastError)
		require.Equal(m, []any{"a", errPlayed, "b", final}, told)
		require.Equal(m, final, m.stats().lastError)
		m.turns(1, fail)
		_, known := m.get("a")
		require.False(m, known)
	}
	m.wants("0s a=0 try 1", "0s b=0 try 1", "1s a=0 try 2", "1s a=0 try 1", "1s b=0 try 1", "2s a=0 try 2")
	s := m.stats()
	require.Equal(m, []uint64{2, 2, 2}, []uint64{s.done, s.dropped, s.retried})
	require.Equal(m, time.Second, s.lastErrorAt)
}

func storyOfHeld(make func(options) *machine) {
	m := make(options{})
	for name, row := range map[string]struct {
		do   func()
		held bool
	}{
		"nothing":            {func() {}, true},
		"added again":        {func() { m.add(entry{key: "a"}) }, true},
		"removed":            {func() { m.remove("a", "/1") }, false},
		"another is removed": {func() { m.remove("a", "/2") }, true},
		"taken over":         {func() { m.add(entry{key: "a", identity: "/2"}) }, false},
		"and back again": {func() {
			m.add(entry{key: "a", identity: "/2"})
			m.add(entry{key: "a", identity: "/1"})
		}, false},
		"cleared": {func() { m.clear() }, false},
		"paused":  {func() { m.pause("storm") }, true},
	} {
		m = make(options{})
		var last held
		m.add(entry{key: "a", identity: "/1"})
		m.turn(first(outcome{word: "Drop"}, func(h held) {
			last = h
			row.do()
			require.Equal(m, row.held, h.held(), name)
		}))
		require.False(m, last.held(), "it is over")
		require.Equal(m, row.held, m.stats().dropped == 1, "%s: what is void is not counted", name)
	}
}

func storyOfPause(make func(options) *machine) {
	m := make(options{})
	m.pause("one")
	m.pause("two")
	m.pause("one")
	require.Equal(m, []string{"one", "two"}, m.paused())
	m.add(entry{key: "a"})
	m.add(entry{key: "b"})
	require.Equal(m, "gone", m.remove("b", ""))
	require.True(m, m.resume("one"))
	require.False(m, m.resume("one"))
	m.turns(1, ends("Done"))
	_, some := m.next()
	require.False(m, some)
	require.Zero(m, m.wait())
	require.True(m, m.resume("two"))
	m.turns(1, func(held) outcome {
		m.pause("three")
		return outcome{word: "Done"}
	})
	m.wants("2s a=0 try 1")
	require.EqualValues(m, 1, m.stats().done, "what is in flight goes on")
}

func storyOfRate(make func(options) *machine) {
	t := make(options{})
	q, err := ratelimitqueue.New[int, int](ratelimitqueue.Config{Rate: 0.5, Clock: t.clock})
	require.NoError(t, err)
	taken := func(rate float64) (n int) {
		require.NoError(t, q.SetRate(rate))
		for i := range 100 {
			q.Add(i, 0)
		}
		for range 10 {
			t.clock.Step(time.Second)
			for item, ok := q.Take(); ok; item, ok = q.Take() {
				item.Done()
				n++
			}
		}
		return n
	}
	require.Equal(t, []int{5, 0, 0, 100}, []int{taken(0.5), taken(ratelimitqueue.Stopped), taken(0), taken(ratelimitqueue.Unlimited)})
}

func storyOfGet(make func(options) *machine) {
	m := make(options{})
	_, known := m.get("a")
	require.False(m, known)
	m.add(entry{key: "a", value: 1, identity: "/1", in: time.Second})
	st, _ := m.get("a")
	require.Equal(m, status{value: 1, identity: "/1", due: time.Second}, st)
	m.turns(1, func(held) outcome {
		st, _ = m.get("a")
		require.Equal(m, status{inFlight: true, value: 1, identity: "/1"}, st)
		return outcome{word: "Fail", err: errPlayed}
	})
	st, _ = m.get("a")
	require.Equal(m, status{value: 1, identity: "/1", due: 2 * time.Second, attempts: 1, lastError: errPlayed}, st)
	m.turns(1, func(held) outcome {
		m.remove("a", "")
		_, known = m.get("a")
		require.False(m, known)
		return outcome{word: "Done"}
	})
	_, known = m.get("a")
	require.False(m, known)
}

func storyOfLen(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.add(entry{key: "b", in: time.Hour})
	require.Equal(m, 2, m.len())
	m.turn(func(held) outcome {
		require.Equal(m, 1, m.len(), "b alone waits")
		return outcome{word: "Done"}
	})
	require.Equal(m, 1, m.len())
}

func storyOfNext(make func(options) *machine) {
	m := make(options{})
	_, some := m.next()
	require.False(m, some)
	require.Zero(m, m.wait(), "do not come back")
	m.add(entry{key: "a", in: time.Minute})
	m.add(entry{key: "b", in: time.Hour})
	next, _ := m.next()
	require.Equal(m, []time.Duration{time.Minute, time.Minute}, []time.Duration{next.Sub(epoch), m.wait()})
	m.clock.Step(2 * time.Minute)
	next, _ = m.next()
	require.Equal(m, 2*time.Minute, next.Sub(epoch), "not before now")
	require.EqualValues(m, 1, m.wait(), "come back at once")
}

func storyOfStats(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.add(entry{key: "b", in: 2 * time.Second})
	m.add(entry{key: "b", in: time.Second, onDuplicate: replace})
	m.clock.Step(3 * time.Second)
	begun := 0
	m.turn(func(held) outcome {
		begun++
		return []outcome{{word: "Fail", err: errPlayed}, {word: "Drop"}}[begun-1]
	})
	require.Equal(m, stats{
		waiting: 1, added: 2, begun: 2, dropped: 1, retried: 1, lastLateness: 2 * time.Second, maxLateness: 3 * time.Second,
		lastError: errPlayed, lastErrorAt: 3 * time.Second,
	}, m.stats())
}

func storyOfSnapshot(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "waits", value: 1, identity: "/1", in: time.Minute})
	m.add(entry{key: "tried", value: 2})
	m.turn(ends("Retry"))
	m.add(entry{key: "flies", value: 3, in: -time.Second})
	m.add(entry{key: "next", value: 4, in: 5 * time.Second})
	m.pause("storm")
	m.resume("storm")
	var snapshot timedworker.Snapshot[string, int]
	m.turn(func(held) outcome {
		m.pause("storm")
		snapshot = m.snapshot()
		m.resume("storm")
		return outcome{word: "Done"}
	})
	text, err := json.Marshal(snapshot)
	require.NoError(m, err)
	var decoded timedworker.Snapshot[string, int]
	require.NoError(m, json.Unmarshal(text, &decoded))

	other := make(options{})
	other.clock.Step(time.Hour) // which does not count
	require.NoError(m, other.restore(decoded))
	require.Error(m, other.restore(decoded), "there is something already")
	require.Error(m, make(options{}).restore(timedworker.Snapshot[string, int]{}), "no version")
	require.Equal(m, []string{"storm"}, other.paused())
	other.resume("storm")
	other.turn(ends("Done"))
	other.turns(60, ends("Done"))
	other.wants("1h0m0s flies=3 try 1", "1h0m1s tried=2 try 2", "1h0m5s next=4 try 1", "1h1m0s waits/1=1 try 1")
}

func storyOfWaiting(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "flies"})
	m.turn(func(held) outcome {
		m.add(entry{key: "late", in: time.Hour})
		m.add(entry{key: "soon", in: time.Minute})
		m.add(entry{key: "too", in: time.Minute})
		require.Equal(m, []string{"soon", "too", "late"}, m.waiting())
		return outcome{word: "Retry"}
	})
	require.Equal(m, []string{"flies", "soon", "too", "late"}, m.waiting())
}

func storyOfClear(make func(options) *machine) {
	m := make(options{})
	m.add(entry{key: "a"})
	m.add(entry{key: "b", in: time.Hour})
	m.pause("storm")
	m.resume("storm")
	m.turn(first(outcome{word: "Retry"}, func(held) {
		m.add(entry{key: "a"})
		m.clear()
		require.Equal(m, []int{0, 1}, []int{m.stats().waiting, m.stats().inFlight}, "what is in flight goes on")
		m.add(entry{key: "b", value: 2})
		m.pause("storm")
		m.clear()
	}))
	require.Equal(m, []string{"storm"}, m.paused(), "it is no key")
	m.resume("storm")
	m.turns(3, ends("Done"))
	m.wants("0s a=0 try 1")
	require.EqualValues(m, 0, m.stats().retried)
}

func storyOfAt(make func(options) *machine) {
	m := make(options{})
	m.addAt(entry{key: "a"}, epoch.Add(time.Minute))
	next, some := m.nextAt(epoch.Add(time.Minute))
	require.True(m, some)
	require.Equal(m, time.Minute, next.Sub(epoch))
}
