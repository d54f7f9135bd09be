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
			return Blocked(0)
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

// What a Step tried once waits for a later one, all of it. Next counts it during the Step, too.
func TestAllThatAStepPutAsideIsTriedAgain(t *testing.T) {
	r := recorded(t, Config{})
	r.result = func(w Work[string, int]) Result {
		if w.Key == "b" {
			next, _ := r.Next()
			require.Equal(t, r.in(0), next, "of c")
		}
		if w.Key == "c" {
			next, _ := r.Next()
			require.Equal(t, r.in(time.Second), next, "of a and b")
		}
		return Blocked(time.Second)
	}
	for _, key := range []string{"a", "b", "c"} {
		r.Schedule(key, 0, r.in(0))
	}
	for _, later := range []time.Duration{0, time.Second, time.Second} {
		require.Equal(t, []string{"a", "b", "c"}, r.step(t, later))
	}
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
