package timedworker

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func TestPermission(t *testing.T) {
	closed, asked := error(nil), 0
	r := recorded(t, Config{PermissionInterval: 5 * time.Second, Permission: func() error { asked++; return closed }})
	r.Schedule("k", 0, r.in(0))
	closed, asked = errors.New("not the leader"), 0
	require.Empty(t, r.step(t, 0))
	require.Empty(t, r.step(t, time.Second))
	require.Equal(t, 1, asked, "left alone for the interval")
	next, _ := r.Next()
	require.Equal(t, epoch.Add(5*time.Second), next)
	closed = nil
	r.Kick()
	require.Equal(t, []string{"k"}, r.step(t, 0))
}

func TestPermissionIsAskedWhenScheduling(t *testing.T) {
	var closed error
	clock := testingclock.NewFakeClock(time.Unix(0, 0))
	s, err := New(func(context.Context, Work[string, string]) Result { return Done() }, Config{Clock: clock, Permission: func() error { return closed }})
	require.NoError(t, err)
	later := clock.Now().Add(time.Hour)
	require.Equal(t, Scheduled, s.ScheduleEntry(Entry[string, string]{Key: "a", Identity: "1", Due: later}))
	require.Equal(t, Scheduled, s.ScheduleEntry(Entry[string, string]{Key: "b", Identity: "1", Due: later}))
	closed = context.Canceled
	require.Equal(t, NotPermitted, s.Schedule("c", "", later), "nothing new is taken in")
	require.Equal(t, Moved, s.ScheduleEntry(Entry[string, string]{Key: "a", Identity: "1", Due: later.Add(1), OnDuplicate: Replace}), "what waits may move")
	require.Equal(t, NotPermitted, s.ScheduleEntry(Entry[string, string]{Key: "b", Identity: "2", Due: later}))
	require.Equal(t, NotFound, s.Cancel("b"), "the old one must not run, and the new one is not taken in")
	closed = nil
	require.Equal(t, NotPermitted, s.Schedule("c", "", later), "a closed permission is left alone for a while")
	clock.Step(time.Second)
	require.Equal(t, Scheduled, s.Schedule("c", "", later))
	require.Equal(t, "NotPermitted", NotPermitted.String())
}

func TestPermissionIsAskedWhenSchedulingBehindRunningWork(t *testing.T) {
	var closed error
	var s *Set[string, string]
	clock := testingclock.NewFakeClock(time.Unix(0, 0))
	s, err := New(func(_ context.Context, w Work[string, string]) Result {
		closed = context.Canceled
		require.Equal(t, NotPermitted, s.Schedule(w.Key, "again", clock.Now()))
		return Done()
	}, Config{Clock: clock, Permission: func() error { return closed }})
	require.NoError(t, err)
	s.Schedule("a", "", clock.Now())
	_, err = s.Step(context.Background())
	require.NoError(t, err)
	require.Zero(t, s.Len())
}

// An endless interval ends only by Kick.
func TestPermissionThatIsAskedNeverAgain(t *testing.T) {
	closed, asked := errors.New("not the leader"), 0
	r := recorded(t, Config{PermissionInterval: math.MaxInt64, Permission: func() error { asked++; return closed }})
	r.clk.Step(time.Hour)
	require.NoError(t, r.Restore(Snapshot[string, int]{Version: 1, Items: []SnapshotItem[string, int]{{Key: "k"}}}))
	require.Empty(t, r.step(t, time.Hour))
	require.Empty(t, r.step(t, 24*time.Hour))
	require.Equal(t, 1, asked)
	require.Greater(t, r.Wait(), 200*365*24*time.Hour)
	closed = nil
	r.Kick()
	require.Equal(t, []string{"k"}, r.step(t, 0))
}

func TestPermissionThatPanicsIsRefused(t *testing.T) {
	broken := false
	var told any
	r := recorded(t, Config{
		Permission: func() error {
			if broken {
				panic("no lease")
			}
			return nil
		},
		OnPanic: func(key, value any, stack []byte) {
			require.Nil(t, key)
			require.NotEmpty(t, stack)
			told = value
		},
	})
	r.Schedule("k", 1, r.in(0))
	broken = true
	require.Equal(t, NotPermitted, r.Schedule("other", 1, r.in(0)))
	require.Equal(t, "no lease", told)
	require.Empty(t, r.step(t, time.Second))
	stats := r.Stats()
	require.EqualValues(t, 2, stats.Panicked)
	require.ErrorContains(t, stats.LastError, "permission panicked: no lease")
	require.Equal(t, r.clk.Now(), stats.LastErrorAt)
	broken = false
	require.Equal(t, []string{"k"}, r.step(t, time.Second))
}

// The goroutine that asks may end: the answer is no, and nothing waits for ever.
func TestPermissionThatEndsItsGoroutineIsRefused(t *testing.T) {
	broken := true
	r := recorded(t, Config{Permission: func() error {
		if broken {
			runtime.Goexit()
		}
		return nil
	}})
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.Schedule("k", 1, r.in(0))
	}()
	<-over
	require.Equal(t, NotPermitted, r.Schedule("k", 1, r.in(0)))
	broken = false
	r.Kick()
	require.Equal(t, Scheduled, r.Schedule("k", 1, r.in(0)))
	broken = true
	over = make(chan struct{})
	go func() {
		defer close(over)
		_, _ = r.Step(context.Background())
	}()
	<-over
	broken = false
	require.Equal(t, []string{"k"}, r.step(t, time.Second), "no Step is active any more")
}

// The answer of a call in progress may be older than the Kick.
func TestKickWhileThePermissionIsAsked(t *testing.T) {
	closed, asked := errors.New("not the leader"), 0
	var r *recorder
	r = recorded(t, Config{Permission: func() error {
		answer := closed
		if asked++; asked == 2 {
			closed = nil
			r.Kick()
		}
		return answer
	}})
	require.Equal(t, NotPermitted, r.Schedule("k", 1, r.in(0)))
	r.clk.Step(time.Minute)
	require.Equal(t, NotPermitted, r.Schedule("k", 1, r.in(0)))
	require.Equal(t, Scheduled, r.Schedule("k", 1, r.in(0)))
}

func TestPause(t *testing.T) {
	r := recorded(t, Config{})
	r.Schedule("k", 1, r.in(time.Second))
	r.Pause("upgrade")
	r.Pause("blind")
	r.Pause("upgrade")
	require.Equal(t, []string{"upgrade", "blind"}, r.Paused())
	require.Empty(t, r.step(t, time.Minute))
	_, some := r.Next()
	require.False(t, some, "nothing will start by itself")
	require.Zero(t, r.Wait())
	require.Equal(t, Scheduled, r.Schedule("new", 1, r.in(time.Hour)))
	require.Equal(t, Moved, r.Schedule("new", 1, r.in(2*time.Hour)))
	require.Equal(t, Cancelled, r.Cancel("new"))
	require.False(t, r.Resume("other"))
	require.True(t, r.Resume("upgrade"))
	require.False(t, r.Resume("upgrade"))
	require.Empty(t, r.step(t, 0), "one reason is enough")
	require.True(t, r.Resume("blind"))
	require.Empty(t, r.Paused())
	next, some := r.Next()
	require.True(t, some)
	require.Equal(t, r.clk.Now(), next, "not before now")
	require.Equal(t, []string{"k"}, r.step(t, 0))
	require.Equal(t, time.Minute-time.Second, r.Stats().MaxLateness)
}

func TestPauseHoldsBackTheRestOfAStep(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(Work[string, int]) Result { r.Pause("enough"); return Done() }
	r.Schedule("a", 1, r.in(0))
	r.Schedule("b", 1, r.in(0))
	require.Equal(t, []string{"a"}, r.step(t, 0))
	require.True(t, r.Resume("enough"))
	require.Equal(t, []string{"b"}, r.step(t, 0))
}
