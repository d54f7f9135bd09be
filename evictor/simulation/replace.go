package simulation

import "github.com/evictkit/evictkit/evictor/simulation/internal/placement"

// deletionBegins makes a pod wait to come back, if its controller does not wait until it is gone.
func (c *cluster) deletionBegins(i int32) {
	p := &c.pods[i]
	c.endsForGood(p)
	if !c.replaces || p.terminating {
		return
	}
	if c.unwanted(p.spec, p.id) && c.counts(p) {
		c.leveled(p.member, -1, 0) // nobody misses it
	}
	when := c.returnsOf(p)
	if when == whenDeleted {
		if p.phase.finished() { // it is replaced already, or done
			return
		}
		c.fails(i)
	}
	switch {
	case when == whenDeleted && c.detached(p) == 0:
		c.replace(i)
	case when != notAtAll: // no other node can have its volume before it is gone, or nobody its name
		p.owed = true
	}
}

// isGone makes a pod wait to come back when its object is about to be removed, if its controller waits for that.
func (c *cluster) isGone(i int32) {
	p := &c.pods[i]
	when := c.returnsOf(p)
	if !c.replaces || !p.owed && when != whenGone {
		return
	}
	if when == whenGone {
		c.fails(i)
	}
	if when != notAtAll { // else its Job has ended
		c.replace(i)
	}
}

// replace lets a pod come back.
func (c *cluster) replace(i int32) {
	p := &c.pods[i]
	c.misses(p.spec, 1)
	b := comeback{at: c.now(), wait: int64(c.detached(p)), key: c.keyOf(p), spec: p.spec, member: p.member}
	if c.outside.Workloads {
		c.outside.misses(c, b)
		return
	}
	if job, ok := c.controlledJob(i); ok && !c.jobs[job].PerIndex {
		c.jobController.Lost(job, c.Clock.Elapsed(), b)
		return
	}
	c.awaits(b)
}

// misses notes a pod for which its controller, which others play, is to create another one.
func (l *lent) misses(c *cluster, b comeback) {
	if next, created := l.early[b.key]; created {
		delete(l.early, b.key)
		if next.wait = b.wait; next.at < 0 {
			next.at = b.at
		}
		c.waiting.add(next)
		return
	}
	l.pods[b.key] = b
}

// replacePods makes pods come back from now on.
func (c *cluster) replacePods() {
	c.replaces, c.waiting = true, waiting{unschedulable: make(map[placement.Alike]*queue)}
	c.filters.Index()
}
