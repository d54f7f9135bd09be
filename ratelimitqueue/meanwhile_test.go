package ratelimitqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A level-triggered caller: an event comes while its key is worked on. It is not lost.
func TestAddedWhileInFlightHasATurnOfItsOwn(t *testing.T) {
	for name, end := range map[string]func(Item[string, int]) Ended{"Done": Item[string, int].Done, "Drop": Item[string, int].Drop} {
		f := queue(t, Config{Rate: 1000, Burst: 10})
		f.Add("a", 1)
		item, _ := f.Take()
		f.step(time.Second)
		require.Equal(t, InFlight, f.Add("a", 2), name)
		require.Equal(t, InFlight, f.AddEntry(Entry[string, int]{Key: "a", Value: 3, Due: epoch.Add(5 * time.Second)}))
		require.Equal(t, InFlight, f.AddEntry(Entry[string, int]{Key: "a", Value: 4, WhileInFlight: Ignore}))
		require.Empty(t, f.takes(), "one holder at a time")
		require.Equal(t, Ended{Held: true, Newer: true}, end(item), name)
		f.wantNext(5 * time.Second)
		f.step(4 * time.Second)
		item, ok := f.Take()
		require.True(t, ok)
		require.Equal(t, 3, item.Value, "the newest")
		require.Equal(t, epoch.Add(time.Second), item.Added)
		require.Zero(t, item.Attempts)
		require.Equal(t, Ended{Held: true}, end(item))
		require.Equal(t, NotFound, f.Remove("a"), "there is nothing left")
	}
}

// If the holder retries, the policy of the newest entry decides between the two, as if it had come afterwards.
func TestAddedWhileInFlightAndRetried(t *testing.T) {
	for _, tc := range []struct {
		policy Duplicate
		due    time.Duration
		value  int
		want   time.Duration
	}{
		{KeepFirst, 1, 1, 10}, {KeepEarliest, 6, 1, 10}, {KeepEarliest, -1, 2, -1}, {Replace, 20, 2, 20},
	} {
		f := queue(t, Config{Rate: 1000, Burst: 10})
		f.Add("a", 1)
		item, _ := f.Take()
		f.AddEntry(Entry[string, int]{Key: "a", Value: 2, Due: epoch.Add(tc.due * time.Second), OnDuplicate: tc.policy})
		require.Equal(t, Ended{Held: true, Newer: true}, item.RetryAfter(10*time.Second))
		st, _ := f.Get("a")
		require.Equal(t, tc.value, st.Value, tc)
		require.Equal(t, epoch.Add(tc.want*time.Second), st.Due, tc)
		require.Equal(t, 1, st.Attempts, tc)
	}
}

// Upstream's TimedQueue: a key whose function is done stays known, even if it was added meanwhile.
func TestKeptThoughAddedMeanwhile(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.Add("a", 1)
	item, _ := f.Take()
	require.Equal(t, InFlight, f.Add("a", 2))
	require.Equal(t, Ended{Held: true, Newer: true}, item.Keep())
	require.Equal(t, Kept, f.Add("a", 3))
	require.Empty(t, f.takes())
	st, _ := f.Get("a")
	require.Equal(t, StateKept, st.State)
	require.Zero(t, st.Value, "a value that nobody will see is not held on to")
	require.Equal(t, Stats{Kept: 1, Added: 2, HandedOut: 1, Done: 1}, f.Stats())
}

// One call tells a holder that its item is no longer wanted.
func TestHolderLearnsThatHeWasCalledOff(t *testing.T) {
	for name, callOff := range map[string]func(*fixture){
		"removed":  func(f *fixture) { require.Equal(t, RemovedInFlight, f.Remove("a")) },
		"replaced": func(f *fixture) { f.AddEntry(Entry[string, int]{Key: "a", Identity: "new"}) },
		"cleared":  func(f *fixture) { f.Clear() },
	} {
		f := queue(t, Config{Rate: 1000, Burst: 10})
		f.AddEntry(Entry[string, int]{Key: "a", Identity: "old"})
		item, _ := f.Take()
		require.True(t, item.Held())
		callOff(f)
		require.False(t, item.Held(), name)
		require.Equal(t, 1, f.Stats().InFlight, "%s: its work goes on", name)
		require.Equal(t, Ended{Newer: name == "replaced"}, item.Done(), name)
		require.Zero(t, f.Stats().InFlight)
	}
	require.False(t, Item[string, int]{}.Held())
	require.Equal(t, Ended{}, Item[string, int]{}.Fail(nil))
}

// Clear forgets everything, but still nothing is handed out twice at the same time.
func TestClear(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	for _, key := range []string{"a", "b", "c"} {
		f.Add(key, 1)
	}
	a, _ := f.Take()
	b, _ := f.Take()
	b.Keep()
	f.Clear()
	f.Clear()
	require.Equal(t, 1, f.records.Len(), "of a it is known that its holder has not ended")
	require.Equal(t, Stats{InFlight: 1, Added: 3, HandedOut: 2, Done: 1}, f.Stats())
	for _, key := range []string{"a", "b"} {
		require.Equal(t, Added, f.Add(key, 2))
	}
	require.Equal(t, []string{"b"}, f.takes())
	require.Equal(t, Ended{Newer: true}, a.RetryAfter(0))
	require.Equal(t, []string{"a"}, f.takes())
	f.Clear()
	require.Zero(t, f.records.Len())
}

// Blocked is no failure: attempts and backoff are as they were.
func TestBlockedIsNoFailure(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.Add("a", 1)
	for range 3 {
		item, ok := f.Take()
		require.True(t, ok)
		require.Zero(t, item.Attempts)
		require.True(t, item.Blocked(-time.Second).Held, "below zero is now")
	}
	for n := range 3 {
		item, ok := f.Take()
		require.True(t, ok)
		require.Equal(t, n, item.Attempts)
		require.True(t, item.Retry().Held)
		require.Equal(t, 100*time.Millisecond<<n, f.Wait())
		f.step(f.Wait())
	}
	require.Equal(t, uint64(3), f.Stats().Blocked)
	require.Equal(t, uint64(3), f.Stats().Retried)
}

// At first only the key is known, later its UID. After that, another UID means another object.
func TestIdentityLearnedLate(t *testing.T) {
	learn := func(f *fixture, policy Duplicate) AddResult {
		return f.AddEntry(Entry[string, int]{Key: "node", Value: 2, Identity: "uid-1", OnDuplicate: policy, WhileInFlight: Ignore})
	}
	other := Entry[string, int]{Key: "node", Value: 3, Identity: "uid-2"}
	for _, policy := range []Duplicate{KeepFirst, KeepEarliest, Replace} {
		waiting := queue(t, Config{Rate: 1000, Burst: 10})
		waiting.Add("node", 1)
		require.Equal(t, Known, learn(waiting, policy))
		item, _ := waiting.Take()
		require.Equal(t, "uid-1", item.Identity)
		require.Equal(t, Replaced, waiting.AddEntry(other))

		flying := queue(t, Config{Rate: 1000, Burst: 10})
		flying.Add("node", 1)
		item, _ = flying.Take()
		require.Equal(t, InFlight, learn(flying, policy))
		require.Equal(t, InFlight, flying.Add("node", 4), "none never erases one")
		require.Equal(t, OtherIdentity, flying.RemoveIdentity("node", "uid-2"))
		require.True(t, item.Done().Held)
		st, _ := flying.Get("node")
		require.Equal(t, "uid-1", st.Identity, "what has its turn next is the same object")
		require.Equal(t, Replaced, flying.AddEntry(other))

		kept := queue(t, Config{Rate: 1000, Burst: 10})
		kept.Add("node", 1)
		kept.takes()
		require.Equal(t, Kept, learn(kept, policy))
		require.Equal(t, Replaced, kept.AddEntry(other))
	}
}

// Instants that are centuries away stay on their side of now.
func TestDueLongAgoAndNever(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	f.step(time.Second)
	f.AddEntry(Entry[string, int]{Key: "year 1", Due: time.Time{}.Add(time.Second)})
	f.AddEntry(Entry[string, int]{Key: "year 9999", Due: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.Equal(t, []string{"year 1"}, f.takes())
	require.Greater(t, f.Wait(), 200*365*24*time.Hour)
}

// First come stays first among equals, however much came before.
func TestFirstInOrderAfterVeryManyOperations(t *testing.T) {
	f := queue(t, Config{Rate: 1000, Burst: 10})
	for _, seq := range []uint64{math.MaxInt32 - 1, math.MaxUint32 - 1, math.MaxInt64 - 1} {
		f.seq = seq
		for _, key := range []string{"c", "a", "b"} {
			f.Add(key, 1)
		}
		require.Equal(t, []string{"c", "a", "b"}, f.takes())
		f.Clear()
		f.step(time.Second)
	}
}

func TestWhoFinishesTwiceEndsNobodyElsesTurn(t *testing.T) {
	f := queue(t, Config{Rate: 1, Burst: 10})
	f.Add("a", 1)
	one, _ := f.Take()
	one.RetryAfter(0)
	two, ok := f.Take()
	require.True(t, ok)
	one.Done()
	st, _ := f.Get("a")
	require.Equal(t, StateInFlight, st.State)
	_ = two
}
