package simulation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// retried is the cluster as the Job controller sees it.
type retried struct{ *cluster }

// Pods counts a Job's pods on nodes.
func (c retried) Pods(id podID) (ready, terminating int) {
	for i := range c.jobs[id].pods {
		switch p := &c.pods[i]; {
		case p.phase.finished():
		case p.terminating:
			terminating++
		case p.ready:
			ready++
		}
	}
	return ready, terminating
}

// Count adds to a Job's failed pods.
func (c retried) Count(id podID, failures int) (counted, tooMany bool) {
	j := c.jobs[id]
	if j.Other {
		return false, false
	}
	j.Failed += failures
	return true, j.Limit >= 0 && j.Failed > j.Limit
}

// Create lets the pods wait for a node.
func (c retried) Create(lost []comeback) {
	for _, b := range lost {
		b.wait = max(b.wait, c.now()-b.at)
		c.waiting.add(b)
	}
}

// End ends a Job that has failed: what waits to come back does not, and the pods that it still has are deleted.
func (c retried) End(id podID, lost []comeback) {
	j := c.jobs[id]
	j.Ended = true
	c.stats.lacks(c.now(), -whole*len(lost))
	c.forget(func(b comeback) bool {
		return b.spec.OwnerName == id.name && c.jobOf(b.spec, c.space(b.key.Namespace)) == j
	})
	failed := FailedJob{NamespacedName: types.NamespacedName{Namespace: c.spaces[id.space], Name: id.name}, At: c.Clock.Elapsed(), Failed: j.Failed}
	for _, i := range slices.Sorted(maps.Keys(j.pods)) {
		p := &c.pods[i]
		switch {
		case p.owed:
			p.owed = false
			c.book(i)
		case !p.terminating && !p.phase.finished():
			failed.Deleted++
			c.deletePod(i)
		}
	}
	c.failedJobs = append(c.failedJobs, failed)
}
