package simulation

import "time"

// A Job's controller creates no pod before this much time has passed since the last failure: shortest after the first
// failure since a pod of the Job succeeded, and after each further one twice as much, up to longest.
const (
	shortestBackoff = 10 * time.Second
	longestBackoff  = 10 * time.Minute
)

// jobLook is how long a Job's controller collects what happens to pods before it looks.
const jobLook = time.Second

// backoff is what a Job's controller remembers of failures. Time does not make it forget them.
type backoff struct {
	failures int        // since a pod last succeeded
	looks    int64      // when it looks at the last of these failures
	last     int64      // when the pods that it sees then had ended, as the API shows it
	held     []comeback // pods that are not created yet
}

// failed counts a failure, now, of a pod that ended at that time, which the API shows in whole seconds. What the controller
// saw at an earlier look does not matter any more, even if that ended later.
func (b *backoff) failed(now, ended int64) {
	ended -= ended % int64(time.Second)
	if b.failures++; b.looks <= now {
		b.looks, b.last = now+int64(jobLook), ended
	}
	b.last = max(b.last, ended)
}

// due returns when pods may be created.
func (b *backoff) due() int64 {
	if b.failures == 0 {
		return 0
	}
	wait := shortestBackoff
	for i := 1; i < b.failures && wait < longestBackoff; i++ {
		wait *= 2
	}
	return max(b.looks, b.last+int64(min(wait, longestBackoff)))
}

// holdBack makes a pod of a Job wait until its controller may create it.
func (c *cluster) holdBack(j *job, b comeback) {
	if len(j.held) == 0 {
		c.backingOff = append(c.backingOff, j)
	}
	j.held = append(j.held, b)
}

// heldBack returns how many pods wait so.
func (c *cluster) heldBack() (pods int) {
	for _, j := range c.backingOff {
		pods += len(j.held)
	}
	return pods
}

// nextOfJobs returns when a Job next ends, because too many of its pods have failed, or creates pods; never if none does.
func (c *cluster) nextOfJobs() time.Duration {
	next := never
	for _, id := range c.ending {
		next = min(next, time.Duration(c.jobs[id].looks))
	}
	for _, j := range c.backingOff {
		next = min(next, time.Duration(j.due()))
	}
	return next
}
