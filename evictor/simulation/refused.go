package simulation

import (
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// refusedPod is a pod whose eviction its budgets have refused.
type refusedPod struct {
	budgets []int32
	since   int64
	waits   bool // its eviction is still wanted, and has not happened
}

// refusals counts what budgets have refused.
type refusals struct {
	pods    map[uint64]refusedPod // by serial; pods stay here, so that each is counted once
	waiting int
	longest int64
}

// ask asks the eviction API to evict a pod, and records a refusal.
func (c *cluster) ask(i int32) error {
	refusal := c.refusal(i)
	if refusal != nil {
		c.refused(&c.pods[i])
	}
	return refusal
}

// wasRefused says whether a budget has refused to evict the pod.
func (c *cluster) wasRefused(p *pod) bool {
	_, was := c.refusals.pods[p.serial]
	return was
}

func (c *cluster) refused(p *pod) {
	r, known := c.refusals.pods[p.serial]
	switch {
	case r.waits:
		return
	case !known:
		r.budgets = c.levels.members[p.member-1].budgets
		for _, b := range r.budgets {
			c.levels.budgets[b].refused++
		}
	}
	r.since, r.waits = c.now(), true
	c.refusals.pods[p.serial] = r
	c.refuses(r, 1)
}

// notRefused records that nobody wants to evict a pod any more.
func (c *cluster) notRefused(key evictor.PodKey) {
	if i, ok := c.findPod(key); ok {
		c.leavesNow(i)
	}
}

// leavesNow records that a pod is deleted, or need not be.
func (c *cluster) leavesNow(i int32) {
	serial := c.pods[i].serial
	r := c.refusals.pods[serial]
	if !r.waits {
		return
	}
	c.refuses(r, -1)
	r.waits = false
	c.refusals.pods[serial] = r
}

// refuses counts a pod that begins (1) or ceases (-1) to wait for its budgets.
func (c *cluster) refuses(r refusedPod, by int) {
	took := c.now() - r.since
	c.refusals.waiting += by
	c.refusals.longest = max(c.refusals.longest, took)
	for _, b := range r.budgets {
		budget := &c.levels.budgets[b]
		budget.waiting += by
		budget.longestRefused = max(budget.longestRefused, took)
	}
}

// reportRefusals returns how many pods were refused, how many still are, and for how long one was. It is called before the
// budgets report.
func (c *cluster) reportRefusals() (pods, atEnd int, longest time.Duration) {
	for _, r := range c.refusals.pods {
		if r.waits {
			c.refuses(r, 0)
		}
	}
	return len(c.refusals.pods), c.refusals.waiting, time.Duration(c.refusals.longest)
}
