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
	require.Equal(t, 5, r.ran[0].Payload)
}

func TestRestoreOfWhatIsOverdue(t *testing.T) {
	r := recorded(t, Config{})
	require.NoError(t, r.Restore([]Item[string, int]{{Key: "a", In: -time.Second}}))
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
	require.Equal(t, "zero", items[0].Key)
	other := newSet()
	require.NoError(t, other.Restore(items))
	_, err := other.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, ran)
}
