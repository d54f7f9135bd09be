package timedworker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func TestScheduledAgainWhileAStepPutItAside(t *testing.T) {
	var panicked any
	r := recorded(t, Config{OnPanic: func(_, value any, _ []byte) { panicked = value }})
	r.result = func(w Work[string, int]) Result {
		switch w.Key {
		case "a":
			return RetryAfter(0)
		case "b":
			r.Schedule("c", 1, r.in(0)) // after the retry of a, which is put aside meanwhile
		case "c":
			r.Schedule("a", 5, r.in(0))
		}
		return Done()
	}
	r.Schedule("a", 1, r.in(-2*time.Second))
	r.Schedule("b", 1, r.in(0))
	require.Equal(t, []string{"a", "b", "c"}, r.step(t, 0))
	require.Nil(t, panicked)
	r.result = func(Work[string, int]) Result { return Done() }
	require.Equal(t, []string{"a"}, r.step(t, 0))
	require.Equal(t, 5, r.ran[0].Value)
}

func TestRestoreOfWhatIsOverdue(t *testing.T) {
	r := recorded(t, Config{})
	require.NoError(t, r.Restore(Snapshot[string, int]{Version: 1, Items: []SnapshotItem[string, int]{{Key: "a", In: -time.Second}}}))
	require.Equal(t, []string{"a"}, r.step(t, 0))
}

func TestStepEndsThoughTwoScheduleEachOther(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(w Work[string, int]) Result {
		r.Schedule(map[string]string{"a": "b", "b": "a"}[w.Key], 0, r.in(0))
		return Done()
	}
	r.Schedule("a", 1, r.in(0))
	require.Len(t, r.step(t, 0), 2)
	require.Len(t, r.step(t, 0), 2, "what was put aside runs in the next step")
}

func TestJitterIsAskedWithoutTheLock(t *testing.T) {
	var r *recorder
	asked := false
	r = recorded(t, Config{Backoff: Backoff{Jitter: func(d time.Duration) time.Duration {
		asked = r.Len() == 1 // would deadlock
		return d
	}}})
	r.result = func(Work[string, int]) Result { return Retry() }
	r.Schedule("a", 1, r.in(0))
	_, err := r.Step(context.Background())
	require.NoError(t, err)
	require.True(t, asked)
}

// The zero time has passed, also in a snapshot.
func TestWorkOfTheZeroTimeIsDueInASnapshot(t *testing.T) {
	clk := testingclock.NewFakeClock(time.Now())
	ran := 0
	newSet := func() *Set[string, int] {
		s, err := New(func(context.Context, Work[string, int]) Result { ran++; return Done() }, Config{Clock: clk})
		require.NoError(t, err)
		return s
	}
	s := newSet()
	clk.Step(time.Second)
	s.Schedule("soon", 1, clk.Now().Add(time.Second))
	s.Schedule("zero", 1, time.Time{})
	items := s.Snapshot()
	require.Equal(t, "zero", items.Items[0].Key)
	other := newSet()
	require.NoError(t, other.Restore(items))
	_, err := other.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, ran)
}

// What ran in a Step and is due again waits for the next one, and everybody sees it wait.
func TestWhatAStepPutsAsideIsSeen(t *testing.T) {
	r := recorded(t, Config{})
	looked := false
	r.result = func(w Work[string, int]) Result {
		switch w.Key {
		case "a":
			return RetryAfter(0)
		case "b":
			r.clk.Step(10 * time.Second)
		case "look":
			looked = true
			st, known := r.Get("a")
			require.True(t, known)
			require.Equal(t, epoch, st.Due)
			next, some := r.Next()
			require.True(t, some)
			require.Equal(t, epoch, next)
			require.Equal(t, []string{"a", "look"}, keysOf(r.Snapshot()))
			require.Equal(t, 2, r.Len())
			require.Equal(t, Stats{Waiting: 1, Running: 1, Added: 3, Started: 3, Done: 1, Retried: 1, LastLateness: 5 * time.Second, MaxLateness: 5 * time.Second}, r.Stats())
			require.Equal(t, Cancelled, r.Cancel("a"))
			require.Equal(t, Scheduled, r.Schedule("a", 2, epoch.Add(7*time.Second)))
		}
		return Done()
	}
	r.Schedule("a", 1, r.in(0))
	r.Schedule("b", 1, r.in(0))
	r.Schedule("look", 1, r.in(5*time.Second))
	require.Equal(t, []string{"a", "b", "look"}, r.step(t, 0))
	require.True(t, looked)
	st, _ := r.Get("a")
	require.Equal(t, epoch.Add(7*time.Second), st.Due, "it keeps no due time that it had before")
	require.Equal(t, []string{"a"}, r.step(t, 0))
}

func keysOf(snapshot Snapshot[string, int]) (keys []string) {
	for _, item := range snapshot.Items {
		keys = append(keys, item.Key)
	}
	return keys
}

// Equal due times stay in the order of scheduling, however much was scheduled before, and whatever a Step that was cut
// short had put aside.
func TestOrderOfEqualsAfterVeryManyOperations(t *testing.T) {
	for _, before := range []uint64{1<<31 - 2, 1<<32 - 2, 1<<33 - 2} {
		r := recorded(t, Config{})
		r.Schedule("first", 1, r.in(time.Minute))
		r.seq += before
		for _, key := range []string{"a", "b", "c", "d"} {
			r.Schedule(key, 1, r.in(time.Minute))
		}
		require.Equal(t, []string{"first", "a", "b", "c", "d"}, keysOf(r.Snapshot()))
		require.Equal(t, []string{"first", "a", "b", "c", "d"}, r.step(t, time.Minute))
	}
	r := recorded(t, Config{})
	ctx, stop := context.WithCancel(context.Background())
	r.result = func(w Work[string, int]) Result {
		switch w.Key {
		case "more":
			r.Schedule("stop", 1, r.in(0))
			r.Schedule("rest", 1, r.in(0))
		case "stop": // "again" is put aside
			stop()
		}
		return Blocked(0)
	}
	r.Schedule("again", 1, r.in(0))
	r.Schedule("more", 1, r.in(0))
	ran, err := r.Step(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, ran)
	require.Equal(t, []string{"again", "rest", "more", "stop"}, keysOf(r.Snapshot()))
}

// A snapshot taken while work runs is of what is left if the process ends there and then.
func TestSnapshotWhileWorkRuns(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(*recorder)
		want []SnapshotItem[string, int]
	}{
		"running":   {func(*recorder) {}, []SnapshotItem[string, int]{{Key: "k", Identity: "1", Value: 1}}},
		"cancelled": {func(r *recorder) { r.Cancel("k") }, []SnapshotItem[string, int]{}},
		"queued behind it": {
			func(r *recorder) { r.Schedule("k", 2, r.in(time.Minute)) },
			[]SnapshotItem[string, int]{{Key: "k", Identity: "1", Value: 2, In: time.Minute}},
		},
		"a successor is queued": {
			func(r *recorder) {
				r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "2", Value: 2, Due: r.in(time.Minute)})
			},
			[]SnapshotItem[string, int]{{Key: "k", Identity: "2", Value: 2, In: time.Minute}},
		},
		"cancelled, then scheduled": {
			func(r *recorder) { r.Cancel("k"); r.ScheduleEntry(Entry[string, int]{Key: "k", Value: 2}) },
			[]SnapshotItem[string, int]{{Key: "k", Value: 2}},
		},
		"queued, but what runs would be kept": {
			func(r *recorder) { r.ScheduleEntry(Entry[string, int]{Key: "k", Value: 2}) },
			[]SnapshotItem[string, int]{{Key: "k", Identity: "1", Value: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, Config{})
			r.result = func(Work[string, int]) Result {
				row.do(r)
				require.Equal(t, row.want, r.Snapshot().Items)
				return Done()
			}
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", Value: 1})
			require.Equal(t, []string{"k"}, r.step(t, 0))
		})
	}
}

// Work that was cancelled may go on for long: a snapshot is restored beside it, and waits where the key is the same.
func TestRestoreBesideCancelledWork(t *testing.T) {
	r := recorded(t, Config{})
	snapshot := Snapshot[string, int]{Version: 1, Items: []SnapshotItem[string, int]{
		{Key: "k", Identity: "2", Value: 2, In: time.Second, PutOff: time.Minute, Attempts: 3}, {Key: "other", In: time.Minute},
	}, Pauses: []string{"upgrade"}}
	r.result = func(w Work[string, int]) Result {
		require.ErrorContains(t, r.Restore(snapshot), "work already")
		r.Clear()
		require.Equal(t, 1, r.Len(), "what runs is still seen")
		require.NoError(t, r.Restore(snapshot))
		require.Equal(t, snapshot, r.Snapshot())
		return Retry()
	}
	r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", Value: 1})
	r.ScheduleEntry(Entry[string, int]{Key: "gone", Due: r.in(time.Hour)})
	require.Equal(t, []string{"k"}, r.step(t, 0))
	require.Equal(t, snapshot, r.Snapshot())
	require.Equal(t, Unchanged, r.ScheduleEntry(Entry[string, int]{Key: "k", Due: r.in(0), OnDuplicate: KeepEarliest}), "it was asked to run earlier")
	require.True(t, r.Resume("upgrade"))
	require.Equal(t, []string{"k"}, r.step(t, time.Second))
	require.Equal(t, 3, r.ran[0].Attempts)
}

func TestRestoreRefuses(t *testing.T) {
	item := SnapshotItem[string, int]{Key: "k"}
	for text, snapshot := range map[string]Snapshot[string, int]{
		"version 0":              {Items: []SnapshotItem[string, int]{item}},
		"version 2":              {Version: 2},
		"twice":                  {Version: 1, Items: []SnapshotItem[string, int]{item, {Key: "other"}, item}},
		"must not be negative":   {Version: 1, Items: []SnapshotItem[string, int]{item, {Key: "other", Attempts: -1}}},
		"putOff and attempts":    {Version: 1, Items: []SnapshotItem[string, int]{item, {Key: "other", PutOff: -1}}},
		"a reason to pause":      {Version: 1, Items: []SnapshotItem[string, int]{item}, Pauses: []string{"a", "b", "a"}},
		"timedworker: cannot re": {Version: -1},
	} {
		r := recorded(t, Config{})
		require.ErrorContains(t, r.Restore(snapshot), text)
		require.Zero(t, r.Len())
		require.Empty(t, r.Paused())
		require.Zero(t, r.Stats())
	}
	r := recorded(t, Config{})
	r.Schedule("there", 1, r.in(0))
	require.ErrorContains(t, r.Restore(Snapshot[string, int]{Version: 1}), "work already")
}

func TestClear(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(w Work[string, int]) Result {
		if w.Value > 1 {
			return Done()
		}
		r.Schedule("running", 2, r.in(0))
		r.Clear()
		require.Equal(t, []string{"running"}, []string{w.Key})
		st, known := r.Get("running")
		require.True(t, known && st.Running && !st.Queued)
		require.Empty(t, r.Snapshot().Items)
		require.Equal(t, Queued, r.Schedule("running", 3, r.in(time.Second)))
		require.Equal(t, Scheduled, r.Schedule("due", 3, r.in(time.Second)))
		return Retry()
	}
	r.Pause("operator")
	for _, key := range []string{"running", "due", "aside"} {
		r.Schedule(key, 1, r.in(0))
	}
	r.Schedule("later", 1, r.in(time.Hour))
	require.True(t, r.Resume("operator"))
	require.Equal(t, []string{"running"}, r.step(t, 0))
	require.Equal(t, []string{"due", "running"}, r.step(t, time.Second))
	require.Empty(t, r.step(t, 2*time.Hour))
	require.Zero(t, r.Len())
	require.EqualValues(t, 7, r.Stats().Added)
}

func TestStats(t *testing.T) {
	r := recorded(t, Config{})
	results := map[string]Result{"done": Done(), "dropped": Drop(), "retried": Retry(), "after": RetryAfter(time.Minute), "blocked": Blocked(time.Minute), "cancelled": Done()}
	r.result = func(w Work[string, int]) Result {
		if w.Key == "cancelled" {
			r.Cancel(w.Key)
		}
		return results[w.Key]
	}
	for _, key := range []string{"done", "dropped", "retried", "after", "blocked", "cancelled"} {
		r.Schedule(key, 1, r.in(time.Second))
	}
	r.Schedule("waits", 1, r.in(time.Hour))
	r.Schedule("waits", 2, r.in(2*time.Hour))
	require.Len(t, r.step(t, 3*time.Second), 6)
	require.Equal(t, Stats{
		Waiting: 4, Added: 7, Started: 6, Done: 1, Dropped: 1, Retried: 2, Blocked: 1,
		LastLateness: 2 * time.Second, MaxLateness: 2 * time.Second,
	}, r.Stats())
	require.Equal(t, []string{"retried"}, r.step(t, 100*time.Millisecond))
	stats := r.Stats()
	require.Zero(t, stats.LastLateness)
	require.Equal(t, 2*time.Second, stats.MaxLateness)
}

// countedClock counts how often it is read.
type countedClock struct {
	time.Time
	reads int
}

func (c *countedClock) Now() time.Time                  { c.reads++; return c.Time }
func (c *countedClock) Since(t time.Time) time.Duration { return c.Sub(t) }

// A composition reads the clock once and hands it on.
func TestTheClockIsNotReadWhereItsReadingIsGiven(t *testing.T) {
	c := &countedClock{Time: epoch}
	s, err := New(func(_ context.Context, w Work[string, int]) Result { return RetryAfter(time.Second) }, Config{Clock: c})
	require.NoError(t, err)
	c.reads = 0
	now := epoch.Add(time.Minute)
	require.Equal(t, Scheduled, s.ScheduleEntryAt(Entry[string, int]{Key: "now"}, now))
	require.Equal(t, Scheduled, s.ScheduleEntryAt(Entry[string, int]{Key: "later", Due: now.Add(time.Second)}, now))
	ran, err := s.StepAt(context.Background(), now)
	require.NoError(t, err)
	require.Equal(t, 1, ran)
	next, some := s.NextAt(now)
	require.True(t, some)
	require.Equal(t, now.Add(time.Second), next)
	snapshot := s.SnapshotAt(now)
	require.Equal(t, []string{"later", "now"}, keysOf(snapshot))
	s.Clear()
	require.NoError(t, s.RestoreAt(snapshot, now.Add(time.Hour)))
	st, _ := s.Get("later")
	require.Equal(t, now.Add(time.Hour+time.Second), st.Due)
	require.Equal(t, 1, s.Stats().Waiting-1)
	require.Zero(t, c.reads)

	c.Time = now.Add(3 * time.Hour)
	c.reads = 0
	ran, err = s.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 2, ran)
	require.LessOrEqual(t, c.reads, 3, "once for each retry, and once to begin with")
}
