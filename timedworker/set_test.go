package timedworker

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// recorder is a Set whose work records itself and ends as configured.
type recorder struct {
	*Set[string, int]
	clk    *testingclock.FakeClock
	ran    []Work[string, int]
	result func(Work[string, int]) Result
}

func recorded(t testing.TB, config Config) *recorder {
	r := &recorder{clk: testingclock.NewFakeClock(epoch), result: func(Work[string, int]) Result { return Forget() }}
	config.Clock = r.clk
	set, err := New(func(_ context.Context, w Work[string, int]) Result {
		r.ran = append(r.ran, w)
		return r.result(w)
	}, config)
	require.NoError(t, err)
	r.Set = set
	return r
}

// shown is the work without what only the Set knows.
func shown(w Work[string, int]) Work[string, int] {
	return Work[string, int]{Key: w.Key, Identity: w.Identity, Value: w.Value, Due: w.Due, Attempts: w.Attempts}
}

func (r *recorder) in(d time.Duration) time.Time { return r.clk.Now().Add(d) }

// step moves the clock and returns the keys that ran.
func (r *recorder) step(t testing.TB, d time.Duration) (keys []string) {
	t.Helper()
	r.clk.Step(d)
	r.ran = nil
	n, err := r.Step(context.Background())
	require.NoError(t, err)
	require.Len(t, r.ran, n)
	for _, w := range r.ran {
		keys = append(keys, w.Key)
	}
	return keys
}

func TestOrderAndMoves(t *testing.T) {
	r := recorded(t, Config{})
	require.Equal(t, Unknown, r.Schedule("b", 1, r.in(2*time.Second)))
	require.Equal(t, Unknown, r.Schedule("a", 1, r.in(2*time.Second)))
	require.Equal(t, Unknown, r.Schedule("c", 1, r.in(time.Second)))
	require.Equal(t, Waiting, r.Schedule("c", 2, r.in(time.Second)))
	require.Equal(t, Waiting, r.Schedule("c", 2, r.in(3*time.Second)))
	next, ok := r.Next()
	require.True(t, ok)
	require.Equal(t, epoch.Add(2*time.Second), next)
	require.Empty(t, r.step(t, time.Second))
	require.Equal(t, []string{"b", "a"}, r.step(t, time.Second), "equal times in the order of scheduling")
	require.Equal(t, []string{"c"}, r.step(t, time.Second))
	require.Equal(t, 2, r.ran[0].Value)
	require.Equal(t, epoch.Add(3*time.Second), r.ran[0].Due)
	_, ok = r.Next()
	require.False(t, ok)
	require.Zero(t, r.Len())
	require.Equal(t, Unknown, r.Schedule("past", 0, epoch.Add(-time.Hour)))
	require.Equal(t, []string{"past"}, r.step(t, 0))
}

func TestIdentity(t *testing.T) {
	r := recorded(t, Config{})
	old := Entry[string, int]{Key: "k", Identity: "1", Value: 1, Due: r.in(0)}
	young := Entry[string, int]{Key: "k", Identity: "2", Value: 2, Due: r.in(time.Second)}
	r.ScheduleEntry(old)
	require.Equal(t, OtherIdentity, r.ScheduleEntry(young))
	require.Equal(t, OtherIdentity, r.CancelIdentity("k", "1"))
	require.Empty(t, r.step(t, 0), "the old one's time does not count")
	require.Equal(t, []string{"k"}, r.step(t, time.Second))
	require.Equal(t, "2", r.ran[0].Identity)
	r.Schedule("none", 0, r.in(time.Hour))
	require.Equal(t, Waiting, r.ScheduleEntry(Entry[string, int]{Key: "none", Identity: "9", Due: r.in(time.Minute), OnDuplicate: Replace}), "none never differs")
	st, _ := r.Get("none")
	require.Equal(t, "9", st.Identity)
	require.Equal(t, Waiting, r.Cancel("none"))
	require.Equal(t, Unknown, r.Cancel("none"))
}

func TestRetries(t *testing.T) {
	r := recorded(t, Config{Backoff: Backoff{Initial: time.Second, Max: 3 * time.Second}})
	r.result = func(Work[string, int]) Result { return Retry(nil) }
	r.Schedule("k", 0, r.in(0))
	for attempt, wait := range []time.Duration{0, 1, 2, 3, 3} {
		require.Equal(t, []string{"k"}, r.step(t, wait*time.Second))
		require.Equal(t, attempt, r.ran[0].Attempts)
		require.Empty(t, r.step(t, 0), "once in a step, and not before its time")
	}
	r.result = func(Work[string, int]) Result { return Blocked(time.Second) }
	require.Equal(t, []string{"k"}, r.step(t, 3*time.Second))
	require.Equal(t, []string{"k"}, r.step(t, time.Second))
	require.Equal(t, 5, r.ran[0].Attempts, "being blocked is no failure")
	r.result = func(Work[string, int]) Result { return RetryAfter(-1) }
	require.Equal(t, []string{"k"}, r.step(t, time.Second), "due again at once, but only in the next step")
	r.result = func(Work[string, int]) Result { return RetryAfter(math.MaxInt64) }
	require.Equal(t, []string{"k"}, r.step(t, 0))
	require.Equal(t, Waiting, r.Cancel("k"))
}

func TestWhileRunning(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*testing.T, *recorder)
		runs []int // values of what runs afterwards
	}{
		{"rescheduled", func(t *testing.T, r *recorder) {
			require.Equal(t, InFlight, r.Schedule("k", 2, r.in(0)))
		}, []int{2}},
		{"cancelled", func(t *testing.T, r *recorder) { require.Equal(t, InFlight, r.Cancel("k")) }, nil},
		{"rescheduled and cancelled", func(t *testing.T, r *recorder) {
			r.Schedule("k", 2, r.in(0))
			require.Equal(t, InFlight, r.Cancel("k"))
		}, nil},
		{"cancelled and rescheduled", func(t *testing.T, r *recorder) {
			r.Cancel("k")
			r.Schedule("k", 3, r.in(0))
		}, []int{3}},
		{"successor of another identity", func(t *testing.T, r *recorder) {
			require.Equal(t, OtherIdentity, r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "new", Value: 4, Due: r.in(0)}))
			require.Equal(t, OtherIdentity, r.CancelIdentity("k", "old"), "the old one has lost its key")
		}, []int{4}},
		{"successor cancelled", func(t *testing.T, r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "new", Value: 4, Due: r.in(0)})
			require.Equal(t, Waiting, r.CancelIdentity("k", "new"))
			require.Equal(t, Unknown, r.CancelIdentity("k", "new"))
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := recorded(t, Config{})
			r.result = func(w Work[string, int]) Result {
				require.Equal(t, 1, r.Stats().InFlight)
				tc.do(t, r)
				r.result = func(Work[string, int]) Result { return Forget() }
				return RetryAfter(0)
			}
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "old", Value: 1, Due: r.in(0)})
			require.Equal(t, []string{"k"}, r.step(t, 0))
			require.Zero(t, r.Stats().InFlight)
			var payloads []int
			for range 3 {
				r.step(t, time.Second)
				for _, w := range r.ran {
					payloads = append(payloads, w.Value)
				}
			}
			require.Equal(t, tc.runs, payloads)
			require.Zero(t, r.Len())
		})
	}
}

func TestClockThatGoesBack(t *testing.T) {
	r := recorded(t, Config{})
	r.Schedule("k", 0, r.in(time.Minute))
	require.Empty(t, r.step(t, 30*time.Second))
	r.clk.SetTime(epoch.Add(-24 * time.Hour))
	require.Empty(t, r.step(t, 0))
	r.clk.SetTime(epoch.Add(time.Minute))
	require.Equal(t, []string{"k"}, r.step(t, 0))
}

func TestSnapshotAndRestore(t *testing.T) {
	r := recorded(t, Config{})
	r.Schedule("late", 1, r.in(time.Hour))
	r.ScheduleEntry(Entry[string, int]{Key: "soon", Identity: "u", Value: 2, Due: r.in(time.Minute)})
	r.Schedule("also", 3, r.in(time.Minute))
	r.clk.Step(10 * time.Second)
	text, err := json.Marshal(r.Snapshot())
	require.NoError(t, err)
	var snapshot Snapshot[string, int]
	require.NoError(t, json.Unmarshal(text, &snapshot))
	require.Equal(t, 1, snapshot.Version)
	require.Equal(t, []SnapshotItem[string, int]{
		{Key: "soon", Identity: "u", Value: 2, In: 50 * time.Second, Place: 2}, {Key: "also", Value: 3, In: 50 * time.Second, Place: 3},
		{Key: "late", Value: 1, In: time.Hour - 10*time.Second, Place: 1},
	}, snapshot.Items)
	other := recorded(t, Config{})
	require.NoError(t, other.Restore(snapshot))
	require.ErrorContains(t, other.Restore(snapshot), "there is work already")
	twice := snapshot
	twice.Items = append(slices.Clone(snapshot.Items), snapshot.Items[0])
	require.ErrorContains(t, recorded(t, Config{}).Restore(twice), "soon")
	require.Equal(t, []string{"soon", "also"}, other.step(t, 50*time.Second))
	r.result = func(Work[string, int]) Result {
		require.Contains(t, r.Snapshot().Items, SnapshotItem[string, int]{Key: "soon", Identity: "u", Value: 2, Place: 2, PutOff: 10 * time.Second})
		r.result = func(Work[string, int]) Result { return Forget() }
		return Forget()
	}
	r.step(t, time.Minute)
}

func TestNames(t *testing.T) {
	require.Equal(t, "OtherIdentity", OtherIdentity.String())
	require.Equal(t, "State(9)", State(9).String())
}

func TestStepStops(t *testing.T) {
	r := recorded(t, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	r.result = func(Work[string, int]) Result { cancel(); return Forget() }
	r.Schedule("a", 0, r.in(0))
	r.Schedule("b", 0, r.in(0))
	n, err := r.Step(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, n)
	r.result = func(Work[string, int]) Result {
		_, err := r.Step(context.Background())
		require.ErrorIs(t, err, ErrRunning)
		require.ErrorIs(t, r.Run(context.Background()), ErrRunning)
		return Forget()
	}
	require.Equal(t, []string{"b"}, r.step(t, 0))
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
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", OnDuplicate: KeepFirst})
		}, true},
		"replaced, and the other one cancelled": {func(r *recorder) {
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "other"})
			require.Equal(t, Waiting, r.CancelIdentity("k", "other"))
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
				return Forget()
			}
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1"})
			r.step(t, 0)
			require.False(t, last.Held(), "its try is over")
		})
	}
	require.False(t, Work[string, int]{}.Held())
}
