// Package jobs plays the Job controller: it makes pods in the place of those that have failed, later after each failure, and
// ends a Job of which too many have.
package jobs

import (
	"math"
	"slices"
	"time"
)

// The controller makes no pod before this much time has passed since the last failure: shortest after the first failure since
// a pod of the Job succeeded, and after each further one twice as much, up to longest. Time does not make it forget failures.
const (
	shortest = 10 * time.Second
	longest  = 10 * time.Minute
	never    = time.Duration(math.MaxInt64)
)

// collects is how long the controller collects what happens to a Job before it looks.
const collects = time.Second

// Cluster is what the controller sees and does in a cluster, in which it knows a Job by its key.
type Cluster[Key comparable, Pod any] interface {
	// Pods is how many pods of a Job that have a node are Ready, and how many are being deleted.
	Pods(job Key) (ready, terminating int)

	// Count adds failures to the Job's status, unless it ignores them, and says whether it has more now than it may have.
	Count(job Key, failures int) (counted, tooMany bool)
	// End ends the Job: its pods are deleted, and none is made for those that were lost.
	End(job Key, lost []Pod)
	// Create makes a pod for each that was lost.
	Create(lost []Pod)
}

// Controller is the Job controller. It is told what happens to pods, as a watch would tell it, and sees that when it looks.
type Controller[Key comparable, Pod any] struct {
	of     Cluster[Key, Pod]
	jobs   map[Key]*job[Key, Pod]
	queued []*job[Key, Pod] // those at which it will look
}

// job is what the controller remembers of one.
type job[Key comparable, Pod any] struct {
	key    Key
	looks  time.Duration // when it next looks
	seen   backoff
	unseen backoff // failures since it last looked, and since a pod last succeeded
	failed int     // pods since it last looked
	lost   []Pod   // for which it has not made others yet
	status *status // that it last wrote; nil if it has not looked yet
}

// backoff is what the controller remembers of failures since a pod last succeeded.
type backoff struct {
	failures int
	ended    time.Duration // when the last of the pods that it saw at once had ended
}

// status is what, of the Job's status, changes with its pods.
type status struct{ ready, terminating, lost int }

// New returns the controller of a cluster.
func New[Key comparable, Pod any](of Cluster[Key, Pod]) *Controller[Key, Pod] {
	return &Controller[Key, Pod]{of: of, jobs: make(map[Key]*job[Key, Pod])}
}

func (c *Controller[Key, Pod]) job(key Key) *job[Key, Pod] {
	j := c.jobs[key]
	if j == nil {
		j = &job[Key, Pod]{key: key, looks: never}
		c.jobs[key] = j
	}
	return j
}

// queue makes the controller look at that time, unless it looks before.
func (c *Controller[Key, Pod]) queue(j *job[Key, Pod], at time.Duration) {
	if j.looks == never {
		c.queued = append(c.queued, j)
	}
	j.looks = min(j.looks, at)
}

// Changed tells that a pod of the Job has changed.
func (c *Controller[Key, Pod]) Changed(key Key, now time.Duration) { c.queue(c.job(key), now+collects) }

// Failed tells that a pod of the Job has failed, which had ended at that time. The API shows that in whole seconds.
func (c *Controller[Key, Pod]) Failed(key Key, now, ended time.Duration) {
	c.Changed(key, now)
	j := c.job(key)
	j.failed++
	j.unseen.failures++
	j.unseen.ended = max(j.unseen.ended, ended.Truncate(time.Second))
}

// Succeeded tells that a pod of the Job has succeeded, which makes the controller forget how long failures make it wait.
func (c *Controller[Key, Pod]) Succeeded(key Key, now time.Duration) {
	c.Changed(key, now)
	j := c.job(key)
	j.seen, j.unseen = backoff{}, backoff{}
}

// Lost tells that the Job lacks a pod. Without a failure that is not seen yet, others might be made already.
func (c *Controller[Key, Pod]) Lost(key Key, now time.Duration, pod Pod) {
	j := c.job(key)
	if j.lost = append(j.lost, pod); j.unseen.failures == 0 {
		c.queue(j, max(now, j.seen.due()))
	}
}

// Waiting is how many lost pods no others were made for yet. Nobody waits for a controller that is not there.
func (c *Controller[Key, Pod]) Waiting() (pods int) {
	if c == nil {
		return 0
	}
	for _, j := range c.queued {
		pods += len(j.lost)
	}
	return pods
}

// Next returns when the controller next looks at a Job, now being the time since the start.
func (c *Controller[Key, Pod]) Next(now time.Duration) time.Duration {
	next := never
	for _, j := range c.queued {
		next = min(next, max(j.looks, now))
	}
	return next
}

// Step looks at the Jobs whose time has come.
func (c *Controller[Key, Pod]) Step(now time.Duration) {
	if c.Next(now) > now {
		return
	}
	var due []*job[Key, Pod]
	c.queued = slices.DeleteFunc(c.queued, func(j *job[Key, Pod]) bool {
		if j.looks > now {
			return false
		}
		due, j.looks = append(due, j), never
		return true
	})
	for _, j := range due {
		c.look(j, now)
	}
}

// look does what a Job needs. If it writes the Job's status, it looks again. If not, because it ignores a failure and all else
// is as it was, it also forgets the failure.
func (c *Controller[Key, Pod]) look(j *job[Key, Pod], now time.Duration) {
	seen, counted := j.seen, false
	if j.failed > 0 {
		var tooMany bool
		if counted, tooMany = c.of.Count(j.key, j.failed); tooMany {
			delete(c.jobs, j.key)
			c.of.End(j.key, j.lost)
			return
		}
		j.failed = 0
	}
	if unseen := j.unseen; unseen.failures > 0 {
		seen, j.unseen = backoff{seen.failures + unseen.failures, unseen.ended}, backoff{}
	}
	switch wait := seen.due() - now; {
	case len(j.lost) == 0:
	case wait > 0:
		c.queue(j, now+max(wait, collects))
	default:
		lost := j.lost
		j.lost = nil
		c.of.Create(lost)
		c.queue(j, now+collects)
	}
	is := status{lost: len(j.lost)}
	is.ready, is.terminating = c.of.Pods(j.key)
	if counted || j.status == nil || is != *j.status {
		j.seen, j.status = seen, &is
		c.queue(j, now+collects)
	}
}

// due returns when pods may be made.
func (b backoff) due() time.Duration {
	if b.failures == 0 {
		return 0
	}
	wait := shortest
	for i := 1; i < b.failures && wait < longest; i++ {
		wait *= 2
	}
	return b.ended + min(wait, longest)
}
