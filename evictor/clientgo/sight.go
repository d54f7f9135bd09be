package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Part is one thing that a replica must be able to do to be fit to lead.
type Part struct {
	// Name is "lists" (the first lists are complete), "watches" (they deliver changes, and leases can be read), "passes" (an
	// evictor looks at the cluster) or "writes" (some write arrives, if the evictor's own do not).
	Name string
	// Err is why it fails; nil means that it works.
	Err error
}

// Parts returns all parts, in the order of Part.Name. A fault shows within 1.625 times Options.LeaseSilence: an eighth
// is for the guard's next look, and half for the answer. Writes that hang take another 30 seconds, the most that a
// write may take. With a negative LeaseSilence, passes and writes never fail. A PartialError of Health is no fault of a
// part.
//
// Writes of the evictor that fail are no fault yet. What the API server or an admission answers about a pod says
// nothing of other objects. If the evictor's writes have all failed for half of LeaseSilence, the Cluster writes three
// nodes, or three pods if it serves the half TaintEviction, in a dry run, eight times in each LeaseSilence. The part fails if all these tries fail, too.
func (c *Cluster) Parts() []Part {
	lists := error(nil)
	if what := c.missing(); what != "" {
		lists = errors.New("no decisions yet, waiting for " + what)
	}
	return []Part{{"lists", lists}, {"watches", c.guard.blindness()}, {"passes", c.passes()}, {"writes", c.writes.ill()}}
}

// MayLead returns nil if every part works, or the error of the first that fails. Lock gives up the lease meanwhile. The
// part "writes" works again once one of the dry-run writes succeeds, which go on meanwhile.
func (c *Cluster) MayLead() error {
	for _, part := range c.Parts() {
		if part.Err != nil {
			return fmt.Errorf("%s: %w", part.Name, part.Err)
		}
	}
	return nil
}

// Lock returns a lock for client-go's leader election that neither takes nor renews the lease while MayLead returns an
// error. A leader then loses the lease by the renew deadline, and releases it if the election is configured to. Released, it is
// free at once: then wait until Run has ended before the election's context ends, or do not set ReleaseOnCancel.
func (c *Cluster) Lock(lease resourcelock.Interface) resourcelock.Interface {
	return &seeingLock{lease, c.MayLead}
}

type seeingLock struct {
	resourcelock.Interface
	mayLead func() error
}

// Create implements resourcelock.Interface.
func (l *seeingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.mayLead(); err != nil {
		return fmt.Errorf("clientgo: not taking the lease: %w", err)
	}
	return l.Interface.Create(ctx, record)
}

// Update implements resourcelock.Interface. An update without a holder releases the lease, and is always let through.
func (l *seeingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.mayLead(); err != nil && record.HolderIdentity != "" {
		return fmt.Errorf("clientgo: not taking or renewing the lease: %w", err)
	}
	return l.Interface.Update(ctx, record)
}

// passes returns an error if no evictor has looked at the cluster for long. An evictor asks Awaits whenever it looks; the
// guard gives it a reason to (prod) if it has had none.
func (c *Cluster) passes() error {
	silence := c.opts.LeaseSilence
	c.mu.Lock()
	state, asked := c.state, c.asked
	c.mu.Unlock()
	if quiet := c.opts.Clock.Now().Sub(asked); silence > 0 && state == runs && quiet > silence {
		return fmt.Errorf("no evictor has looked at the cluster for %s", quiet.Round(time.Second))
	}
	return nil
}

// looked notes that an evictor looks at the cluster.
func (c *Cluster) looked() {
	now := c.opts.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = now
}

// prod wakes evictors that have not looked for a while, with a change of a node that does not exist.
func (g *guard) prod() {
	g.c.mu.Lock()
	asked := g.c.asked
	g.c.mu.Unlock()
	if g.c.opts.Clock.Now().Sub(asked) < g.c.opts.LeaseSilence/2 {
		return
	}
	for _, e := range g.targets() {
		e.NodeChanged("")
	}
}
