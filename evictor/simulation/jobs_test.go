package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// A Job may lose one pod. When its controller sees that it has lost the second, the others are deleted and nothing comes back.
func TestAJobEndsWhenTooManyOfItsPodsFail(t *testing.T) {
	second := Event{At: 10 * time.Minute, Fail: named("b1")}
	pods := func() []*v1.Pod {
		return []*v1.Pod{owned("Job", "batch", "p1", "a1"), owned("Job", "batch", "p2", "a2"), owned("Job", "batch", "p3", "b1"), owned("Job", "other", "o", "a1")}
	}
	c := filed(t, v1.ReadWriteOnce, pods()...)
	require.NoError(t, c.AddJob("shop", "batch", jobSpec{Limit: 1}))
	require.Error(t, c.AddJob("shop", "batch", jobSpec{Limit: 1}))
	lines, _, r := told(t, c, failing("a1", second))
	_, first := scheduled(lines, "p1-r1")
	require.Equal(t, 2*time.Minute+5*time.Second, first, "evicted at 1m45s, created ten seconds later")
	require.Equal(t, []FailedJob{{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "batch"}, At: 10*time.Minute + 51*time.Second, Failed: 2, Deleted: 2}}, r.FailedJobs)
	require.Len(t, of(lines, timeline.KindSchedule), 2, "the other Job's pod came back too")
	require.Zero(t, r.Waiting)

	endless := filed(t, v1.ReadWriteOnce, pods()...)
	_, _, r = told(t, endless, failing("a1", second))
	require.Empty(t, r.FailedJobs)
	require.GreaterOrEqual(t, r.ReturnedPods, 3)

	ended := filed(t, v1.ReadWriteOnce, pods()...)
	require.NoError(t, ended.AddJob("shop", "batch", jobSpec{Ended: true}))
	_, _, r = told(t, ended, failing("a1", second))
	require.Equal(t, 1, r.ReturnedPods, "the other Job's")
	require.Empty(t, r.FailedJobs)
}

// A Job that replaces only failed pods waits until its pod is gone, and counts it then, unless it may have a rule for it.
func TestAJobThatReplacesOnlyFailedPods(t *testing.T) {
	for _, spec := range []jobSpec{{Limit: 0}, {Limit: 1}, {Limit: -1, Other: true}} {
		c := filed(t, v1.ReadWriteOnce, owned("Job", "batch", "p1", "a1"), owned("Job", "batch", "p2", "b1"))
		spec.OnlyFailed = true
		require.NoError(t, c.AddJob("shop", "batch", spec))
		lines, _, r := told(t, c, failing("a1", Event{At: 10 * time.Minute, Recover: named("a1")}))
		_, back := scheduled(lines, "p1-r1")
		if spec.Limit == 0 {
			require.Zero(t, back)
			require.Equal(t, []FailedJob{{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "batch"}, At: 10*time.Minute + time.Second, Failed: 1, Deleted: 1}}, r.FailedJobs)
		} else {
			require.Equal(t, 10*time.Minute+11*time.Second, back)
			require.Empty(t, r.FailedJobs)
		}
		require.Zero(t, r.Waiting)
		require.Equal(t, spec.Other, r.NotSimulated["failure policies of Jobs"] == 2)
	}
}
