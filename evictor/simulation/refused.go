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

// Refusals say how many pods disruption budgets did not let go.
type Refusals struct {
	// EvictionsRefused counts the pods whose eviction a PodDisruptionBudget refused, once or more often, to an evictor or
	// a drain. RefusedAtEnd counts those of them that still waited at the end. LongestRefused is the longest time from the
	// first refusal of one to its deletion, to the moment from which nobody wanted to evict it, or to the end.
	EvictionsRefused int           `figure:""`
	RefusedAtEnd     int           `figure:""`
	LongestRefused   time.Duration `figure:""`
}

// wait counts a pod that begins (1) or ceases (-1) to wait, and how long it has waited.
func (r *Refusals) wait(by int, took time.Duration) {
	r.RefusedAtEnd += by
	r.LongestRefused = max(r.LongestRefused, took)
}

// refusals counts what budgets have refused.
type refusals struct {
	pods map[uint64]refusedPod // by serial; pods stay here, so that each is counted once
	Refusals
}

// ask asks the eviction API to evict a pod, and records a refusal.
func (c *cluster) ask(i int32) error {
	refusal := c.refusal(i)
	if refusal != nil {
		c.refused(&c.pods[i])
	}
	return refusal
}

// waitsForBudget says whether a budget has refused to evict the pod, and somebody still wants to.
func (c *cluster) waitsForBudget(p *pod) bool { return c.refusals.pods[p.serial].waits }

func (c *cluster) refused(p *pod) {
	r, known := c.refusals.pods[p.serial]
	switch {
	case r.waits:
		return
	case !known:
		r.budgets = c.levels.members[p.member-1].budgets
		for _, b := range r.budgets {
			c.levels.budgets[b].EvictionsRefused++
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
	took := time.Duration(c.now() - r.since)
	c.refusals.wait(by, took)
	for _, b := range r.budgets {
		c.levels.budgets[b].wait(by, took)
	}
}

// reportRefusals returns how many pods were refused, how many still are, and for how long one was. It is called before the
// budgets report.
func (c *cluster) reportRefusals() Refusals {
	for _, r := range c.refusals.pods {
		if r.waits {
			c.refuses(r, 0)
		}
	}
	c.refusals.EvictionsRefused = len(c.refusals.pods)
	return c.refusals.Refusals
}
