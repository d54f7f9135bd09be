package timedworker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScheduledAgainWhileAStepPutItAside(t *testing.T) {
	var panicked any
	r := recorded(t, Config{OnPanic: func(_, value any, _ []byte) { panicked = value }})
	r.result = func(w Work[string, int]) Result {
		switch w.Key {
		case "a":
			return RetryAfter(0)
		case "b":
			r.Schedule("c", 1, r.in(0)) // after the retry of a, which is set aside meanwhile
		case "c":
			r.Schedule("a", 5, r.in(0))
		}
		return Forget()
	}
	r.Schedule("a", 1, r.in(-2*time.Second))
	r.Schedule("b", 1, r.in(0))
	require.Equal(t, []string{"a", "b", "c"}, r.step(t, 0))
	require.Nil(t, panicked)
	r.result = func(Work[string, int]) Result { return Forget() }
	require.Equal(t, []string{"a"}, r.step(t, 0))
	require.Equal(t, 5, r.ran[0].Value)
}

func TestOfSeveralScheduledMeanwhileTheEarliestCounts(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(Work[string, int]) Result {
		for value, due := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
			r.ScheduleEntry(Entry[string, int]{Key: "a", Value: value, Due: r.in(due), OnDuplicate: KeepEarliest})
		}
		return Forget()
	}
	r.Schedule("a", 7, r.in(0))
	require.Equal(t, []string{"a"}, r.step(t, 0))
	st, _ := r.Get("a")
	require.Equal(t, 1, st.Value)
	require.Equal(t, r.in(time.Second), st.Due)
}

func TestStepEndsThoughTwoScheduleEachOther(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(w Work[string, int]) Result {
		r.Schedule(map[string]string{"a": "b", "b": "a"}[w.Key], 0, r.in(0))
		return Forget()
	}
	r.Schedule("a", 1, r.in(0))
	require.Len(t, r.step(t, 0), 2)
	require.Len(t, r.step(t, 0), 2, "what was put aside runs in the next step")
}

func TestClear(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(w Work[string, int]) Result {
		if w.Value > 1 {
			return Forget()
		}
		r.Schedule("running", 2, r.in(0))
		r.Clear()
		require.Equal(t, []string{"running"}, []string{w.Key})
		_, known := r.Get("running")
		require.False(t, known)
		require.Equal(t, 1, r.Stats().InFlight)
		require.Empty(t, r.Snapshot().Items)
		require.Equal(t, Unknown, r.Schedule("running", 3, r.in(time.Second)))
		require.Equal(t, Unknown, r.Schedule("due", 3, r.in(time.Second)))
		return Retry(nil)
	}
	r.Pause("operator")
	for _, key := range []string{"running", "due", "aside"} {
		r.Schedule(key, 1, r.in(0))
	}
	r.Schedule("later", 1, r.in(time.Hour))
	require.True(t, r.Resume("operator"))
	require.Equal(t, []string{"running"}, r.step(t, 0))
	require.Equal(t, []string{"running", "due"}, r.step(t, time.Second))
	require.Empty(t, r.step(t, 2*time.Hour))
	require.Zero(t, r.Len())
}

func TestStats(t *testing.T) {
	r := recorded(t, Config{})
	results := map[string]Result{"done": Forget(), "retried": Retry(nil), "after": RetryAfter(time.Minute), "blocked": Blocked(time.Minute), "cancelled": Forget()}
	r.result = func(w Work[string, int]) Result {
		if w.Key == "cancelled" {
			r.Cancel(w.Key)
		}
		return results[w.Key]
	}
	for _, key := range []string{"done", "retried", "after", "blocked", "cancelled"} {
		r.Schedule(key, 1, r.in(time.Second))
	}
	r.Schedule("waits", 1, r.in(time.Hour))
	r.Schedule("waits", 2, r.in(2*time.Hour))
	require.Len(t, r.step(t, 3*time.Second), 5)
	require.Equal(t, Stats{Waiting: 4}, r.Stats())
	r.clk.Step(5 * time.Second)
	r.Next()
	require.Equal(t, 5*time.Second-100*time.Millisecond, r.Stats().Overdue)
}
