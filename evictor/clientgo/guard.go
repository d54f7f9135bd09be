package clientgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
)

// When no lease is seen to advance, the guard reads some live at each look, beginning with those renewed last, because
// their nodes were alive last. It goes on past leases that are gone and nodes that failed when the watch did: these say
// nothing about the watch.
const (
	probedLeases = 3  // leases read
	triedLeases  = 16 // leases asked for, those that are gone included
)

// guard tells evictors whether they can see the cluster well enough to declare nodes Unknown.
type guard struct {
	c    *Cluster
	next int // used by run alone: the first lease to read at the next look, counted from the one renewed last

	mu       sync.Mutex
	advanced time.Time             // guarded by mu: when a lease was last seen to advance
	silence  time.Duration         // guarded by mu: Options.LeaseSilence, or the default for the evictors that are fed
	err      error                 // guarded by mu: what was told last
	told     []evictor.Target      // guarded by mu
	unseen   *coordinationv1.Lease // guarded by mu: a renewal that was read live and that the informer did not have
	lost     map[string]time.Time  // guarded by mu: such renewals of suspects, by node
	unread   error                 // guarded by mu: of the last read of a suspect's lease, nil if it succeeded
	unreadAt time.Time             // guarded by mu
}

func newGuard(c *Cluster) *guard {
	return &guard{c: c, lost: make(map[string]time.Time), silence: cmp.Or(c.opts.LeaseSilence, defaultLeaseSilence)}
}

func (g *guard) bound() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.silence
}

// spread is how long a list may be put off: a quarter of the silence that the guard allows.
func (g *guard) spread() time.Duration {
	if silence := g.bound(); silence > 0 {
		return silence / 4
	}
	return defaultLeaseSilence / 4
}

// renewed notes that a lease was seen to advance.
func (g *guard) renewed(*coordinationv1.Lease) {
	now := g.c.opts.Clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advanced = now
}

func (g *guard) health() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// tell adds an evictor to those that are told, once it has been told the current state. Otherwise a later change could
// reach it before an earlier one, and it would wait for the end of a failure that is over.
func (g *guard) tell(e evictor.Target) {
	for knows := error(nil); ; e.SetObserverHealth(knows) {
		g.mu.Lock()
		if (knows == nil) == (g.err == nil) {
			g.told = append(g.told, e)
			g.mu.Unlock()
			return
		}
		knows = g.err
		g.mu.Unlock()
	}
}

// run looks until the context ends.
func (g *guard) run(ctx context.Context) {
	if g.bound() < 0 {
		return
	}
	g.renewed(nil) // silence counts from here
	for {
		timer := g.c.opts.Clock.NewTimer(max(g.bound()/8, time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
			if !g.c.Synced() {
				continue // the evictor decides nothing before that
			}
			g.found(g.look(ctx))
			g.prod()
			g.c.confirmer.forget()
			if g.c.writes.ill() != nil {
				g.c.tryWriting(ctx)
			}
		}
	}
}

// found takes the result of a look, and logs and reports it if it is a change.
func (g *guard) found(err error) {
	g.mu.Lock()
	changed := (err == nil) != (g.err == nil)
	g.err = err
	told := slices.Clone(g.told)
	g.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		g.c.opts.Logger.Warn("cannot see the cluster well enough: no taints and no evictions", "why", err)
	} else {
		g.c.opts.Logger.Info("can see the cluster again")
	}
	for _, e := range told {
		e.SetObserverHealth(err)
	}
}

// look says why the cluster cannot be seen well enough. It returns nil if all is well, or if the leases, read live, are
// as old as the informer says.
func (g *guard) look(ctx context.Context) error {
	silence, now := g.bound(), g.c.opts.Clock.Now()
	for _, l := range g.c.allLinks() {
		if since, err := l.broken(now); err != nil && since >= silence {
			return fmt.Errorf("the watch of %s has been broken for %s: %w", l.what, since.Round(time.Second), err)
		}
	}
	g.mu.Lock()
	quiet, was, unseen := now.Sub(g.advanced), g.err, g.unseen
	g.mu.Unlock()
	if quiet < silence || g.c.sources.leases == nil {
		g.next = 0
		g.remember(nil)
		return nil
	}
	live, err := g.probe(ctx, unseen)
	if err != nil {
		return fmt.Errorf("no lease has advanced for %s, and none can be read: %w", quiet.Round(time.Second), err)
	}
	g.remember(live)
	switch {
	case live == nil:
		return nil
	case unseen != nil && !g.c.sees(unseen.Name, unseen.Spec.RenewTime.Time):
		return fmt.Errorf("the watch of leases has stood still for %s: node %s renewed its lease unseen", quiet.Round(time.Second), unseen.Name)
	default:
		return was // the watch may be about to deliver it; the next look decides
	}
}

func (g *guard) remember(unseen *coordinationv1.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unseen = unseen
}

// probe reads a few leases live, and returns one that has advanced unseen, if any. It begins with the one that had
// advanced unseen before.
func (g *guard) probe(ctx context.Context, unseen *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	patience := g.bound() / 2
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names := g.c.lastRenewed(g.next, triedLeases)
	if unseen != nil {
		names = append([]string{unseen.Name}, names...)
		g.next--
	}
	read := 0
	for _, name := range names {
		g.next++
		live, err := g.c.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil && errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("no answer within %s: %w", patience, err)
		case err != nil:
			return nil, err
		case live.Spec.RenewTime != nil && !g.c.sees(name, live.Spec.RenewTime.Time):
			return live, nil
		}
		if read++; read == probedLeases {
			break
		}
	}
	return nil, nil
}

// sees says whether the informer has this renewal of the node's lease, or a later one.
func (c *Cluster) sees(node string, renewed time.Time) bool {
	obj, ok, err := c.sources.leases.GetByKey(v1.NamespaceNodeLease + "/" + node)
	l, is := nodeLease(obj)
	return err == nil && ok && is && !l.Spec.RenewTime.Time.Before(renewed)
}

// lastRenewed names n leases, the last renewed first, starting at position from and wrapping around.
func (c *Cluster) lastRenewed(from, n int) []string {
	var leases []*coordinationv1.Lease
	for _, obj := range c.sources.leases.List() {
		if l, ok := nodeLease(obj); ok {
			leases = append(leases, l)
		}
	}
	slices.SortFunc(leases, func(a, b *coordinationv1.Lease) int {
		return cmp.Or(b.Spec.RenewTime.Compare(a.Spec.RenewTime.Time), cmp.Compare(a.Name, b.Name))
	})
	names := make([]string, 0, n)
	for i := range min(n, len(leases)) {
		names = append(names, leases[(from+i)%len(leases)].Name)
	}
	return names
}
