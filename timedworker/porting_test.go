package timedworker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

// What maintainers of other timers and queues ask before they replace theirs; see MIGRATING.md.

// Karpenter: scheduling again may make a deadline earlier, never later.
func TestEarlierDeadlineWins(t *testing.T) {
	r := recorded(t, Config{})
	again := func(payload int, in time.Duration) State {
		return r.ScheduleEntry(Entry[string, int]{Key: "pod", Value: payload, Due: epoch.Add(in), OnDuplicate: KeepEarliest})
	}
	require.Equal(t, Unknown, again(1, time.Minute))
	require.Equal(t, Waiting, again(2, time.Hour))
	require.Equal(t, Waiting, again(3, time.Minute))
	require.Equal(t, Waiting, again(4, 30*time.Second))
	require.Equal(t, Waiting, again(5, 45*time.Second))
	require.Empty(t, r.step(t, 29*time.Second))
	require.Equal(t, []string{"pod"}, r.step(t, time.Second))
	require.Equal(t, 4, r.ran[0].Value, "that of the earliest")
	require.Empty(t, r.step(t, 2*time.Hour), "once")
}

// Karpenter: work that a disruption budget blocks waits for as long as it was told to, even if every reconcile
// schedules it again for the same deadline, or for an earlier one. The others run when they are due.
func TestBlockedWorkBacksOffAndStarvesNobody(t *testing.T) {
	r := recorded(t, Config{Workers: 1})
	reconcile := func(deadline time.Duration) State {
		return r.ScheduleEntry(Entry[string, int]{Key: "blocked", Due: epoch.Add(deadline), OnDuplicate: KeepEarliest})
	}
	r.result = func(w Work[string, int]) Result {
		if w.Key == "blocked" {
			require.Equal(t, InFlight, reconcile(5*time.Second), "also while it is tried")
			return Blocked(20 * time.Second)
		}
		return Forget()
	}
	for i := range 60 {
		r.Schedule(fmt.Sprint(i), 0, r.in(time.Duration(i)*time.Second))
	}
	var tries []time.Duration
	for second := range 60 {
		reconcile(5 * time.Second)
		ran := r.step(t, 0)
		if slices.Contains(ran, "blocked") {
			tries = append(tries, time.Duration(second))
		}
		require.Contains(t, ran, fmt.Sprint(second))
		require.Empty(t, r.step(t, 0))
		r.clk.Step(time.Second)
	}
	require.Equal(t, []time.Duration{5, 25, 45}, tries)
	require.Empty(t, r.step(t, 0))
	reconcile(4 * time.Second)
	require.Empty(t, r.step(t, 0), "it is late already, so an earlier deadline is no news")
}

// Karpenter, kubernetes#107543: a pod with the name of an earlier one, but another UID, is never evicted by the earlier
// pod's work, whatever state that is in, and has its own time.
func TestPredecessorsWorkNeverRunsForASuccessor(t *testing.T) {
	type pod struct{ name, uid string }
	old, young := pod{"db-0", "old"}, pod{"db-0", "young"}
	for name, result := range map[string]Result{"it waits": Forget(), "it failed and backs off": Retry(nil), "it is blocked": Blocked(time.Second)} {
		t.Run(name, func(t *testing.T) {
			clk := testingclock.NewFakeClock(epoch)
			var ran []Work[pod, int]
			s, err := New(func(_ context.Context, w Work[pod, int]) Result {
				if w.Key == old {
					return result
				}
				ran = append(ran, w)
				return Forget()
			}, Config{Clock: clk})
			require.NoError(t, err)
			s.Schedule(old, 1, epoch.Add(time.Minute))
			if result != Forget() {
				clk.Step(time.Minute)
				_, err = s.Step(context.Background())
				require.NoError(t, err)
			}
			require.Equal(t, Unknown, s.Schedule(young, 2, epoch.Add(time.Hour)))
			require.Equal(t, Waiting, s.Cancel(old))
			next, _ := s.Next()
			require.Equal(t, epoch.Add(time.Hour), next)
			require.Equal(t, Unknown, s.Cancel(old), "late news about the old one")
			clk.SetTime(next)
			_, err = s.Step(context.Background())
			require.NoError(t, err)
			require.Equal(t, []Work[pod, int]{{young, 2, 0}}, ran)
			require.Empty(t, s.All())
		})
	}
}
