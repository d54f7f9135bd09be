package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/jobs"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// createdAt says when the Job's pods were created: the time at which they were bound, less the ten seconds of
// replaceAfter.
func createdAt(t *testing.T, c *cluster, events ...Event) (at []time.Duration) {
	lines, _, r := told(t, c, Scenario{Until: 4 * time.Hour, Events: events})
	for _, l := range of(lines, timeline.KindSchedule) {
		at = append(at, l.T-10*time.Second)
	}
	require.Zero(t, r.Waiting)
	return at
}

func deletes(pod string, at time.Duration) Event {
	return Event{At: at, DeletePod: &Pod{Name: "shop/" + pod}}
}

// batch is a cluster with a Job of that many pods, on its live nodes in turn.
func batch(t *testing.T, pods int, spec jobSpec) *cluster {
	var all []*v1.Pod
	for i := range pods {
		all = append(all, owned("Job", "batch", fmt.Sprint("p", i), []string{"a2", "b1"}[i%2]))
	}
	c := filed(t, v1.ReadWriteOnce, all...)
	require.NoError(t, c.AddJob("shop", "batch", spec))
	return c
}

// Each failure doubles the wait, whatever time lies between them, up to ten minutes, and whatever a policy makes of it.
func TestAJobsRetriesWaitLongerEachTime(t *testing.T) {
	var events []Event
	var want []time.Duration
	for i, wait := range []time.Duration{10, 20, 40, 80, 160, 320, 600, 600} {
		at := time.Duration(i+1) * 20 * time.Minute
		events = append(events, deletes(fmt.Sprint("p", i), at))
		want = append(want, at+wait*time.Second)
	}
	for _, spec := range []jobSpec{{Limit: -1}, {Limit: 100, OnlyFailed: true}, {Limit: -1, Other: true}} {
		require.Equal(t, want, createdAt(t, batch(t, 8, spec), events...), spec)
	}
	unknown := filed(t, v1.ReadWriteOnce, owned("Job", "batch", "p0", "a2"), owned("Job", "batch", "p1", "a2"))
	require.Equal(t, want[:2], createdAt(t, unknown, events[:2]...), "the Job is not in the files")
	index := jobSpec{Limit: -1, Other: true, PerIndex: true}
	require.Equal(t, []time.Duration{events[0].At, events[1].At}, createdAt(t, batch(t, 2, index), events[:2]...), "each index waits for itself")
}

// A failure during the wait prolongs it, from that failure on, for all pods that the Job lacks.
func TestAJobCreatesAllThatItLacksAtOnce(t *testing.T) {
	last := time.Minute + 8*time.Second
	at := createdAt(t, batch(t, 3, jobSpec{Limit: 6}), deletes("p0", time.Minute), deletes("p1", last), deletes("p2", last))
	require.Equal(t, []time.Duration{last + 40*time.Second, last + 40*time.Second, last + 40*time.Second}, at)
}

// The wait runs from the end of the last pod. For the Job's controller a pod on a silent node ended when it was marked
// not Ready: five minutes before it is evicted.
func TestAJobsWaitRunsFromTheEndOfItsPod(t *testing.T) {
	patient := owned("Job", "batch", "p0", "a1")
	patient.Spec.Tolerations = admitted(nil, 300)
	hasty := owned("Job", "batch", "p1", "a1")
	c := filed(t, v1.ReadWriteOnce, patient)
	lines, _, _ := told(t, c, Scenario{Until: time.Hour, Events: []Event{{At: time.Minute, Fail: named("a1")}}})
	_, back := scheduled(lines, "p0-r1")
	evicted := of(lines, timeline.KindEvict)[0].T
	require.Equal(t, evicted+11*time.Second, back, "the first wait is over already when the controller looks")

	c = filed(t, v1.ReadWriteOnce, hasty)
	lines, _, _ = told(t, c, Scenario{Until: time.Hour, Events: []Event{{At: time.Minute, Fail: named("a1")}}})
	_, back = scheduled(lines, "p1-r1")
	require.Equal(t, of(lines, timeline.KindEvict)[0].T+20*time.Second, back, "it was Ready when it was evicted")
}

// A Job's controller looks a second after a failure, and sees then what else has failed. The wait runs from what ended last.
func TestAJobsControllerSeesTheFailuresOfASecondAtOnce(t *testing.T) {
	patient := owned("Job", "batch", "p0", "a1")
	patient.Spec.Tolerations = admitted(nil, 300)
	c := filed(t, v1.ReadWriteOnce, patient, owned("Job", "batch", "p1", "a2"))
	evicted := 6*time.Minute + 45*time.Second // it had ended five minutes before
	deleted := evicted - 750*time.Millisecond
	at := createdAt(t, c, Event{At: time.Minute, Fail: named("a1")}, deletes("p1", deleted))
	created := deleted.Truncate(time.Second) + 20*time.Second // the API shows whole seconds
	require.Equal(t, []time.Duration{created, created}, at)
}

// A pod that succeeds ends the wait for failures, which count all the same.
func TestASuccessEndsAJobsWait(t *testing.T) {
	c := batch(t, 3, jobSpec{Limit: 6})
	c.replacePods()
	c.jobController = jobs.New(retried{c})
	c.deletePod(0)
	c.deletePod(1)
	require.Equal(t, 2, c.jobController.Waiting())
	c.SetPhase(2, v1.PodSucceeded)
	c.Clock.Set(time.Second)
	c.jobController.Step(time.Second)
	require.Zero(t, c.jobController.Waiting())
	require.Equal(t, 2, c.waiting.len())
	require.Equal(t, 2, c.jobs[podID{c.space("shop"), "batch"}].Failed)
}

// Nothing waits for a Job that has failed.
func TestAFailedJobHoldsNothingBack(t *testing.T) {
	c := batch(t, 3, jobSpec{Limit: 1})
	require.Empty(t, createdAt(t, c, deletes("p0", time.Minute), deletes("p1", time.Minute+5*time.Second)))
	require.Equal(t, []string{"shop/batch"}, []string{c.failedJobs[0].String()})
	require.Zero(t, c.jobController.Waiting())
}

// A Job with a podFailurePolicy replaces pods when they have failed: that is the API server's default for it.
func TestReplacementPolicyOfAJob(t *testing.T) {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	require.False(t, jobOf(j).OnlyFailed)
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	require.True(t, jobOf(j).OnlyFailed)
}
