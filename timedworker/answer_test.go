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
			require.Zero(t, w.Attempts, "a delay is no failed try")
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

func TestAnswers(t *testing.T) {
	require.True(t, Proceed().Proceeds())
	require.False(t, Cancel("node is Ready").Proceeds())
	require.False(t, Delay(0, "budget").Proceeds())
	require.Empty(t, Proceed().Reason())
	require.Equal(t, "node is Ready", Cancel("node is Ready").Reason())
	require.Equal(t, "budget", Delay(0, "budget").Reason())
	require.Equal(t, Done(), Proceed().Result())
	require.Equal(t, Drop(), Cancel("node is Ready").Result())
	require.Equal(t, Blocked(5*time.Second), Delay(5*time.Second, "budget").Result())
	require.Equal(t, Proceed(), Answer{})
}
