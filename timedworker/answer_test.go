package timedworker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func TestCheckedAsksRightBeforeActing(t *testing.T) {
	answers := []Answer{Delay(time.Minute, "budget"), Delay(-time.Second, ""), Proceed()}
	acted, clock := 0, testingclock.NewFakeClock(time.Unix(0, 0))
	s, err := New(Checked(
		func(_ context.Context, w Work[string, int]) Answer {
			require.Zero(t, w.Attempt, "a delay is no failed try")
			if w.Key == "gone" {
				return Cancel("recovered")
			}
			next := answers[0]
			answers = answers[1:]
			return next
		},
		func(context.Context, Work[string, int]) Result { acted++; return Done() },
	), Config{Clock: clock})
	require.NoError(t, err)
	step := func() int {
		ran, err := s.Step(context.Background())
		require.NoError(t, err)
		return ran
	}
	s.Schedule("gone", 1, clock.Now())
	s.Schedule("kept", 1, clock.Now())
	require.Equal(t, 2, step())
	require.Equal(t, 1, s.Len(), "cancelled work is forgotten, delayed work stays")
	require.Zero(t, step())
	clock.Step(time.Minute)
	require.Equal(t, 1, step())
	require.Zero(t, acted)
	require.Equal(t, 1, step(), "less than no delay is none")
	require.Equal(t, 1, acted)
	require.Zero(t, s.Len())
}

func TestAnswerInWords(t *testing.T) {
	require.Equal(t, "Proceed", Proceed().String())
	require.Equal(t, "Cancel: node is Ready", Cancel("node is Ready").String())
	require.Equal(t, "Delay 5s: budget", Delay(5*time.Second, "budget").String())
	require.Equal(t, "budget", Delay(0, "budget").Reason())
	require.Equal(t, Done(), Proceed().Result())
	require.Equal(t, Proceed(), Answer{})
}

func TestFenceIsAskedWhenArming(t *testing.T) {
	var closed error
	clock := testingclock.NewFakeClock(time.Unix(0, 0))
	s, err := New(func(context.Context, Work[string, string]) Result { return Done() }, Config{Clock: clock, Fence: func() error { return closed }})
	require.NoError(t, err)
	later := clock.Now().Add(time.Hour)
	require.Equal(t, Scheduled, s.ScheduleEntry(Entry[string, string]{Key: "a", Identity: "1", At: later}))
	require.Equal(t, Scheduled, s.ScheduleEntry(Entry[string, string]{Key: "b", Identity: "1", At: later}))
	closed = context.Canceled
	require.Equal(t, Fenced, s.Schedule("c", "", later), "nothing new is armed")
	require.Equal(t, Moved, s.ScheduleEntry(Entry[string, string]{Key: "a", Identity: "1", At: later.Add(1)}), "what is armed may move")
	require.Equal(t, Fenced, s.ScheduleEntry(Entry[string, string]{Key: "b", Identity: "2", At: later}))
	require.Equal(t, NotFound, s.Cancel("b"), "the old one must not run, and the new one is not armed")
	closed = nil
	require.Equal(t, Fenced, s.Schedule("c", "", later), "a closed fence is left alone for a while")
	clock.Step(time.Second)
	require.Equal(t, Scheduled, s.Schedule("c", "", later))
	require.Equal(t, "Fenced", Fenced.String())
}

func TestFenceIsAskedWhenArmingBehindRunningWork(t *testing.T) {
	var closed error
	var s *Set[string, string]
	clock := testingclock.NewFakeClock(time.Unix(0, 0))
	s, err := New(func(_ context.Context, w Work[string, string]) Result {
		closed = context.Canceled
		require.Equal(t, Fenced, s.Schedule(w.Key, "again", clock.Now()))
		return Done()
	}, Config{Clock: clock, Fence: func() error { return closed }})
	require.NoError(t, err)
	s.Schedule("a", "", clock.Now())
	_, err = s.Step(context.Background())
	require.NoError(t, err)
	require.Zero(t, s.Len())
}
