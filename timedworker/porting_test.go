package timedworker

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What maintainers of other timers and queues ask before they replace theirs; see MIGRATING.md.

// Karpenter: scheduling again may make a deadline earlier, never later.
func TestEarlierDeadlineWins(t *testing.T) {
	r := recorded(t, Config{})
	again := func(payload int, in time.Duration) State {
		return r.ScheduleEntry(Entry[string, int]{Key: "pod", Identity: "1", Value: payload, Due: epoch.Add(in), OnDuplicate: KeepEarliest})
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
// schedules it again for the same deadline. The others run when they are due. An earlier deadline still wins.
func TestBlockedWorkBacksOffAndStarvesNobody(t *testing.T) {
	r := recorded(t, Config{Workers: 1})
	reconcile := func(deadline time.Duration) State {
		return r.ScheduleEntry(Entry[string, int]{Key: "blocked", Identity: "1", Due: epoch.Add(deadline), OnDuplicate: KeepEarliest})
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
	require.Equal(t, []string{"blocked"}, r.step(t, 0), "a deadline earlier than the one it had is news")
}

// Karpenter, kubernetes#107543: a pod with the name of an earlier one, but another UID, is never evicted by the earlier
// pod's work, whatever state that is in, and has its own time.
func TestPredecessorsWorkNeverRunsForASuccessor(t *testing.T) {
	old := Entry[string, int]{Key: "pod", Identity: "old", Value: 1, Due: epoch.Add(time.Minute)}
	young := Entry[string, int]{Key: "pod", Identity: "young", Value: 2, Due: epoch.Add(time.Hour), OnDuplicate: KeepEarliest}
	for name, before := range map[string]func(*testing.T, *recorder){
		"it waits": func(*testing.T, *recorder) {},
		"it failed and backs off": func(t *testing.T, r *recorder) {
			r.result = func(Work[string, int]) Result { return RetryAfter(time.Second) }
			r.step(t, time.Minute)
		},
		"it is blocked": func(t *testing.T, r *recorder) {
			r.result = func(Work[string, int]) Result { return Blocked(time.Second) }
			r.step(t, time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, Config{})
			r.ScheduleEntry(old)
			before(t, r)
			r.result = func(Work[string, int]) Result { return Forget() }
			require.Equal(t, OtherIdentity, r.ScheduleEntry(young))
			requireOnlyYoung(t, r)
		})
	}
	t.Run("it is running and wants to be tried again", func(t *testing.T) {
		r := recorded(t, Config{})
		r.ScheduleEntry(old)
		r.result = func(Work[string, int]) Result {
			r.result = func(Work[string, int]) Result { return Forget() }
			require.Equal(t, OtherIdentity, r.ScheduleEntry(young))
			return RetryAfter(time.Second)
		}
		require.Equal(t, []string{"pod"}, r.step(t, time.Minute))
		requireOnlyYoung(t, r)
	})
}

// requireOnlyYoung plays the rest of two hours. Late news about the old pod must not cancel the new one's work.
func requireOnlyYoung(t *testing.T, r *recorder) {
	require.Equal(t, OtherIdentity, r.CancelIdentity("pod", "old"))
	for range 120 {
		if len(r.step(t, time.Minute)) == 0 {
			continue
		}
		require.Equal(t, Work[string, int]{Key: "pod", Identity: "young", Value: 2, Due: epoch.Add(time.Hour)}, shown(r.ran[0]))
		require.Zero(t, r.Len())
		return
	}
	t.Fatal("it never ran")
}

// kube-controller-manager, kubernetes#108268: another process that restores a snapshot runs work that was due in five
// minutes after five minutes, not after five more.
func TestRestoreKeepsAFiveMinuteDeadline(t *testing.T) {
	first := recorded(t, Config{})
	first.ScheduleEntry(Entry[string, int]{Key: "pod", Identity: "1", Value: 7, Due: first.in(5 * time.Minute)})
	require.Empty(t, first.step(t, 4*time.Minute))
	text, err := json.Marshal(first.Snapshot())
	require.NoError(t, err)

	second := recorded(t, Config{})
	second.clk.Step(3 * time.Hour) // another machine, another clock
	var items Snapshot[string, int]
	require.NoError(t, json.Unmarshal(text, &items))
	require.NoError(t, second.Restore(items))
	require.Equal(t, Waiting, second.ScheduleEntry(Entry[string, int]{Key: "pod", Identity: "1", Due: second.in(5 * time.Minute), OnDuplicate: KeepEarliest}))
	require.Empty(t, second.step(t, time.Minute-1))
	require.Equal(t, []string{"pod"}, second.step(t, 1))
	require.Equal(t, 7, second.ran[0].Value)
}
