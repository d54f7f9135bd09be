package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Part is one thing that a leader must be able to do.
type Part struct {
	// Name is "lists" (they are complete), "watches" (they bring what changes), "passes" (the evictor looks at it) or
	// "writes" (they do not all fail).
	Name string
	// Err is what ails it, nil when nothing does.
	Err error
}

// Parts are all of them, in that order. Each is ill after Options.LeaseSilence of it, and one look of an eighth of that, at the latest;
// writes that hang need the 30 seconds that one may take. Passes and writes are not judged where LeaseSilence is below 0.
func (c *Cluster) Parts() []Part {
	lists := error(nil)
	if what := c.Awaits(); what != "" {
		lists = errors.New("nothing is decided, it waits for " + what)
	}
	return []Part{{"lists", lists}, {"watches", c.Health()}, {"passes", c.passes()}, {"writes", c.writes.ill()}}
}

// MayLead is nil while no part is ill, else it names the first that is. A replica that cannot see or write holds up those that
// can while it has the lease: it gives it away and does not take it (Lock). Writes that failed are well again when one
// succeeds; a replica that does not lead tries one without effect (a dry run) at each look.
func (c *Cluster) MayLead() error {
	for _, part := range c.Parts() {
		if part.Err != nil {
			return fmt.Errorf("%s: %w", part.Name, part.Err)
		}
	}
	return nil
}

// Lock is a lock for client-go's leader election that neither takes nor renews the lease while MayLead forbids it. A leader
// loses it then by the renew deadline, and gives it away where the election is told to.
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
		return fmt.Errorf("clientgo: the lease is not taken: %w", err)
	}
	return l.Interface.Create(ctx, record)
}

// Update implements resourcelock.Interface; one that names nobody gives the lease away.
func (l *seeingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.mayLead(); err != nil && record.HolderIdentity != "" {
		return fmt.Errorf("clientgo: the lease is not taken or renewed: %w", err)
	}
	return l.Interface.Update(ctx, record)
}

// passes says whether the evictor looks. It asks the store at each look whether it is complete; the guard gives it a reason to
// look when it has not had one for long.
func (c *Cluster) passes() error {
	silence := c.guard.bound()
	c.mu.Lock()
	state, asked := c.state, c.asked
	c.mu.Unlock()
	if quiet := c.opts.Clock.Now().Sub(asked); silence > 0 && state == runs && quiet > silence {
		return fmt.Errorf("no evictor has looked at the cluster for %s", quiet.Round(time.Second))
	}
	return nil
}

// looked notes that an evictor looks.
func (c *Cluster) looked() {
	now := c.opts.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = now
}

// prod gives evictors that have not looked for a while something to look at: the change of a node that there is not.
func (g *guard) prod() {
	g.c.mu.Lock()
	asked := g.c.asked
	g.c.mu.Unlock()
	if g.c.opts.Clock.Now().Sub(asked) < g.bound()/2 {
		return
	}
	g.mu.Lock()
	told := g.told
	g.mu.Unlock()
	for _, e := range told {
		e.NodeChanged("")
	}
}
