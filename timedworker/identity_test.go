package timedworker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// during runs f while the work of "k" runs, which then ends with the result, and returns the values that ran after it.
func during(t *testing.T, first Entry[string, int], result Result, f func(*recorder)) (values []int) {
	r := recorded(t, Config{})
	r.result = func(Work[string, int]) Result {
		r.result = func(Work[string, int]) Result { return Done() }
		f(r)
		return result
	}
	first.Key, first.Value = "k", 1
	r.ScheduleEntry(first)
	require.Equal(t, []string{"k"}, r.step(t, 0))
	for range 10 {
		r.step(t, time.Second)
		for _, w := range r.ran {
			values = append(values, w.Value)
		}
	}
	require.Zero(t, r.Len())
	return values
}

func TestIdentityThatIsLearnedLate(t *testing.T) {
	for _, policy := range []Duplicate{KeepFirst, KeepEarliest, Replace} {
		r := recorded(t, Config{})
		r.Schedule("k", 1, r.in(time.Minute))
		r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", Due: r.in(time.Hour), OnDuplicate: policy})
		require.Equal(t, OtherIdentity, r.CancelIdentity("k", "2"), "it is adopted, though the policy keeps the rest")
		require.Equal(t, Unchanged, r.ScheduleEntry(Entry[string, int]{Key: "k"}))
		require.Equal(t, Moved, r.Schedule("k", 2, r.in(time.Second)))
		require.Equal(t, OtherIdentity, r.CancelIdentity("k", "2"), "none erases none")
		require.Equal(t, Cancelled, r.CancelIdentity("k", "1"))
	}
}

func TestIdentityThatIsLearnedWhileItRuns(t *testing.T) {
	for _, while := range []WhileInFlight{Again, Ignore} {
		got := during(t, Entry[string, int]{}, Done(), func(r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", Value: 2, WhileInFlight: while})
			require.Equal(t, OtherIdentity, r.CancelIdentity("k", "2"))
			st, _ := r.Get("k")
			require.Equal(t, "1", st.Identity)
		})
		require.Equal(t, map[WhileInFlight][]int{Again: {2}, Ignore: nil}[while], got)
	}
	during(t, Entry[string, int]{}, Done(), func(r *recorder) {
		r.Schedule("k", 2, r.in(0))
		r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", WhileInFlight: Ignore})
		require.Equal(t, OtherIdentity, r.CancelIdentity("k", "2"), "what is queued has learned it too")
		require.Equal(t, Running, r.CancelIdentity("k", "1"))
	})
}

// An entry without an identity, scheduled behind running work, is for the same object.
func TestIdentityIsNotLostBehindRunningWork(t *testing.T) {
	got := during(t, Entry[string, int]{Identity: "1"}, Done(), func(r *recorder) {
		require.Equal(t, Queued, r.Schedule("k", 2, r.in(time.Second)))
		require.Equal(t, OtherIdentity, r.CancelIdentity("k", "2"))
	})
	require.Equal(t, []int{2}, got)
	r := recorded(t, Config{})
	r.result = func(Work[string, int]) Result {
		r.Schedule("k", 2, r.in(time.Second))
		return Done()
	}
	r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1"})
	r.step(t, 0)
	require.Equal(t, OtherIdentity, r.CancelIdentity("k", "0"), "a late event about another object")
	st, _ := r.Get("k")
	require.Equal(t, "1", st.Identity)
}

// The new object's work waits behind the old one's. Neither news without an identity nor late news about the old object
// change whose it is.
func TestSuccessorBehindRunningWorkKeepsItsIdentity(t *testing.T) {
	got := during(t, Entry[string, int]{Identity: "old"}, Retry(), func(r *recorder) {
		r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "new", Value: 2})
		require.Equal(t, Queued, r.Schedule("k", 3, r.in(0)))
		require.Equal(t, Running, r.CancelIdentity("k", "old"))
		require.Equal(t, OtherIdentity, r.CancelIdentity("k", "third"))
	})
	require.Equal(t, []int{3}, got)
}

// After a Cancel the key is free: an entry without an identity need not be for the old object.
func TestCancelledWorkLeavesNoIdentity(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(Work[string, int]) Result {
		require.Equal(t, Running, r.CancelIdentity("k", "old"))
		require.Equal(t, Queued, r.ScheduleEntry(Entry[string, int]{Key: "k", WhileInFlight: Ignore}), "there is nothing left to ignore it for")
		return Retry()
	}
	r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "old"})
	r.step(t, 0)
	st, known := r.Get("k")
	require.True(t, known)
	require.Empty(t, st.Identity)
}

func TestWhileInFlight(t *testing.T) {
	again := func(policy Duplicate, in time.Duration) func(*recorder) {
		return func(r *recorder) {
			require.Equal(t, Queued, r.ScheduleEntry(Entry[string, int]{Key: "k", Value: 8, Due: r.in(0), OnDuplicate: policy}))
			require.Equal(t, Queued, r.ScheduleEntry(Entry[string, int]{Key: "k", Value: 9, Due: r.in(in), OnDuplicate: policy}))
		}
	}
	for _, end := range []Result{Done(), Drop(), Fail(nil), Fail(Final(errPlayed))} {
		for _, policy := range []Duplicate{KeepFirst, KeepEarliest, Replace} {
			require.Equal(t, []int{9}, during(t, Entry[string, int]{}, end, again(policy, time.Second)), "the newest gets a turn of its own")
		}
	}
	for _, end := range []Result{Retry(), RetryAfter(0), Blocked(0), Fail(errPlayed)} {
		require.Equal(t, []int{1}, during(t, Entry[string, int]{}, end, again(KeepFirst, time.Second)))
		require.Equal(t, []int{1}, during(t, Entry[string, int]{}, end, again(KeepEarliest, time.Second)))
		require.Equal(t, []int{9}, during(t, Entry[string, int]{}, end, again(KeepEarliest, -time.Second)))
		require.Equal(t, []int{9}, during(t, Entry[string, int]{}, end, again(Replace, time.Second)))
	}
	for _, end := range []Result{Done(), Retry()} {
		want := map[outcome][]int{done: nil, retryBackoff: {1}}[end.outcome]
		require.Equal(t, want, during(t, Entry[string, int]{}, end, func(r *recorder) {
			e := Entry[string, int]{Key: "k", Value: 9, OnDuplicate: Replace, WhileInFlight: Ignore}
			require.Equal(t, Unchanged, r.ScheduleEntry(e))
			e.Identity = "1"
			require.Equal(t, Unchanged, r.ScheduleEntry(e))
		}))
	}
}

// The policies are about entries for the same object. Another identity takes the key over, and its work waits like any
// other until the old work ends.
func TestSuccessorIsNotIgnored(t *testing.T) {
	for _, end := range []Result{Done(), Retry(), Blocked(0)} {
		got := during(t, Entry[string, int]{Identity: "old"}, end, func(r *recorder) {
			schedule := func(value int, policy Duplicate, due time.Duration) ScheduleResult {
				return r.ScheduleEntry(Entry[string, int]{
					Key: "k", Identity: "new", Value: value, Due: r.in(due), OnDuplicate: policy, WhileInFlight: Ignore,
				})
			}
			require.Equal(t, Queued, schedule(2, KeepFirst, 3*time.Second))
			require.Equal(t, Unchanged, schedule(3, KeepFirst, time.Second))
			require.Equal(t, Unchanged, schedule(4, KeepEarliest, 4*time.Second))
			require.Equal(t, Queued, schedule(5, KeepEarliest, 2*time.Second))
			require.EqualValues(t, 2, r.Stats().Added)
		})
		require.Equal(t, []int{5}, got)
	}
}

func TestHeld(t *testing.T) {
	var last Work[string, int]
	for name, row := range map[string]struct {
		do   func(*recorder)
		held bool
	}{
		"nothing happens":      {func(*recorder) {}, true},
		"scheduled again":      {func(r *recorder) { r.Schedule("k", 2, r.in(0)) }, true},
		"cancelled":            {func(r *recorder) { r.Cancel("k") }, false},
		"another is cancelled": {func(r *recorder) { r.CancelIdentity("k", "other") }, true},
		"cleared":              {func(r *recorder) { r.Clear() }, false},
		"replaced":             {func(r *recorder) { r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "other"}) }, false},
		"ignoring more of it": {func(r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", WhileInFlight: Ignore})
		}, true},
		"ignoring another": {func(r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "other", WhileInFlight: Ignore})
		}, false}, // which takes over its key
		"replaced, and the other one cancelled": {func(r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "other"})
			require.Equal(t, Cancelled, r.CancelIdentity("k", "other"))
		}, false},
		"replaced, and back again": {func(r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "other"})
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1"})
		}, false},
		"cancelled, then again": {func(r *recorder) { r.Cancel("k"); r.Schedule("k", 2, r.in(0)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, Config{})
			r.result = func(w Work[string, int]) Result {
				require.True(t, w.Held())
				row.do(r)
				require.Equal(t, row.held, w.Held())
				last = w
				return Done()
			}
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1"})
			r.step(t, 0)
			require.False(t, last.Held(), "its try is over")
		})
	}
	require.False(t, Work[string, int]{}.Held())
}
