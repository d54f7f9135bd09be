package timedworker

import (
	"context"
	"fmt"
	"math"
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
	_, ok = r.Next()
	require.False(t, ok)
	require.Empty(t, r.All())
	require.Equal(t, Unknown, r.Schedule("past", 0, epoch.Add(-time.Hour)))
	require.Equal(t, []string{"past"}, r.step(t, 0))
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
	r.result = func(Work[string, int]) Result { return Blocked(-1) }
	require.Equal(t, []string{"k"}, r.step(t, time.Second), "due again at once, but only in the next step")
	r.result = func(Work[string, int]) Result { return Blocked(math.MaxInt64) }
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
		{"cancelled, rescheduled and cancelled", func(t *testing.T, r *recorder) {
			r.Cancel("k")
			require.Equal(t, Unknown, r.Schedule("k", 4, r.in(0)))
			require.Equal(t, Waiting, r.Cancel("k"))
			require.Equal(t, Unknown, r.Cancel("k"))
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := recorded(t, Config{})
			r.result = func(w Work[string, int]) Result {
				st, _ := r.Get("k")
				require.Equal(t, InFlight, st.State)
				tc.do(t, r)
				r.result = func(Work[string, int]) Result { return Forget() }
				return Blocked(0)
			}
			r.Schedule("k", 1, r.in(0))
			require.Equal(t, []string{"k"}, r.step(t, 0))
			var payloads []int
			for range 3 {
				r.step(t, time.Second)
				for _, w := range r.ran {
					payloads = append(payloads, w.Value)
				}
			}
			require.Equal(t, tc.runs, payloads)
			require.Empty(t, r.All())
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

// All is a copy in the order in which work is due, also of what runs.
func TestAll(t *testing.T) {
	r := recorded(t, Config{})
	r.Schedule("late", 1, r.in(time.Hour))
	r.Schedule("soon", 2, r.in(time.Minute))
	r.Schedule("also", 3, r.in(time.Minute))
	r.result = func(Work[string, int]) Result {
		var got []string
		for _, st := range r.All() {
			got = append(got, fmt.Sprint(st.Key, st.Value, " ", st.State, " ", st.Due.Sub(epoch)))
			r.Cancel("late") // nothing is locked
		}
		require.Equal(t, []string{"soon2 InFlight 1m0s", "also3 Waiting 1m0s", "late1 Waiting 1h0m0s"}, got)
		r.result = func(Work[string, int]) Result { return Forget() }
		return Forget()
	}
	require.Equal(t, []string{"soon", "also"}, r.step(t, time.Minute))
	require.Empty(t, r.All())
}

func TestNames(t *testing.T) {
	require.Equal(t, "InFlight", InFlight.String())
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
		require.ErrorIs(t, err, errRunning)
		require.ErrorIs(t, r.Run(context.Background()), errRunning)
		return Forget()
	}
	require.Equal(t, []string{"b"}, r.step(t, 0))
}
