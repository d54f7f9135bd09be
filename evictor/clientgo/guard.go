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
	"github.com/evictkit/evictkit/internal/sighting"
)

// guard tells evictors whether they can see the cluster well enough to declare nodes Unknown.
type guard struct {
	c     *Cluster
	watch sighting.Watch // of leases; used by run alone

	telling sync.Mutex // held while targets are told of health, so that none hears an older finding last; mu is taken within

	mu       sync.Mutex
	advanced time.Time            // guarded by mu: when a lease was last seen to advance, or first listed
	ticked   time.Time            // guarded by mu: when awake was last called; zero before the guard runs
	woke     time.Time            // guarded by mu: when it was last found that the process had been suspended; zero once it hears again
	err      error                // guarded by mu: what look found last
	blind    error                // guarded by mu: why no lease can be read that must be, nil if one can
	told     []evictor.Target     // guarded by mu
	lost     map[string]time.Time // guarded by mu: such renewals of nodes that were about to count as silent
	unread   error                // guarded by mu: of the last read of such a node's lease, nil if it succeeded
	unreadAt time.Time            // guarded by mu
}

func newGuard(c *Cluster) *guard { return &guard{c: c, lost: make(map[string]time.Time)} }

// spread is how long a list may be put off: a quarter of the silence that the guard allows.
func (g *guard) spread() time.Duration {
	if silence := g.c.opts.LeaseSilence; silence > 0 {
		return silence / 4
	}
	return defaultLeaseSilence / 4
}

// renewed tells the targets that a lease was seen to advance. It is the only handler of leases.
func (g *guard) renewed(l *coordinationv1.Lease) {
	g.advances()
	for _, e := range g.targets() {
		e.LeaseObserved(l.Name, l.Spec.RenewTime.Time, l.ResourceVersion)
	}
}

func (g *guard) advances() {
	now := g.c.opts.Clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.advanced = now
}

// targets returns those that are told. The list is only ever appended to.
func (g *guard) targets() []evictor.Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told
}

// blindness is seen for who does not hold mu.
func (g *guard) blindness() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen()
}

// seen is what targets are told: nil, or why the cluster cannot be seen. mu is held.
func (g *guard) seen() error {
	if g.err != nil {
		return g.err
	}
	return g.blind
}

// tell adds a target to those that are told.
func (g *guard) tell(e evictor.Target) {
	g.telling.Lock()
	defer g.telling.Unlock()
	g.mu.Lock()
	g.told = append(g.told, e)
	is := g.seen()
	g.mu.Unlock()
	if is != nil {
		e.SetObserverHealth(is)
	}
}

// find notes what was found, and tells of it if the cluster can be seen now and could not before, or the other way
// round.
func (g *guard) find(note func()) {
	g.telling.Lock()
	defer g.telling.Unlock()
	g.finds(note)
}

// finds is find with telling held.
func (g *guard) finds(note func()) {
	g.mu.Lock()
	was := g.seen()
	note()
	is := g.seen()
	g.mu.Unlock()
	switch {
	case (was == nil) == (is == nil):
		return
	case is != nil:
		g.c.opts.Logger.Warn("cannot see the cluster well enough: no taints and no evictions", "why", is)
	default:
		g.c.budgets.askAgain() // before the targets try again all that waits
		g.c.opts.Logger.Info("can see the cluster again")
	}
	for _, e := range g.targets() {
		e.SetObserverHealth(is)
	}
}

// found takes the result of a look. One that began before the process was suspended, or found to have been, counts for
// nothing.
func (g *guard) found(err error, began time.Time) {
	g.find(func() {
		if g.woke.After(began) {
			return
		}
		if g.err = err; err == nil {
			g.woke = time.Time{}
		}
	})
}

// awake finds out whether this process was suspended, and returns why the cluster cannot be seen, or nil. Whoever asks
// waits until the targets have been told, so that nobody acts on what was true before.
func (g *guard) awake() error {
	now := g.c.opts.Clock.Now()
	g.mu.Lock()
	ticked, err := g.ticked, g.seen()
	gap := now.Sub(ticked)
	slept := !ticked.IsZero() && gap > max(g.spread(), time.Second)
	if !slept && !ticked.IsZero() {
		g.ticked = now
	}
	g.mu.Unlock()
	if !slept {
		return err
	}
	g.telling.Lock() // all who find the same wait here
	defer g.telling.Unlock()
	g.mu.Lock()
	known, err := g.ticked != ticked, g.seen()
	g.mu.Unlock()
	if known { // and whoever was first has told, and may have heard something since
		return err
	}
	g.finds(func() {
		g.woke, g.err = now, fmt.Errorf("this process was suspended for %s, and does not know yet whether its watches still deliver", gap.Round(time.Second))
		err = g.seen()
	})
	g.tick(now) // only now, so that nobody returns before
	return err
}

func (g *guard) tick(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ticked = now
}

// ticks keeps asking whether the process was suspended, also while a look waits for answers.
func (g *guard) ticks(ctx context.Context) {
	if g.c.opts.LeaseSilence < 0 {
		return
	}
	ticker := g.c.opts.Clock.NewTicker(max(g.spread()/2, time.Millisecond))
	defer ticker.Stop()
	g.tick(g.c.opts.Clock.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			_ = g.awake()
		}
	}
}

// unreadable says why no lease can be read of those that a target must have; nil if one can.
func (g *guard) unreadable(err error) { g.find(func() { g.blind = err }) }

// run looks until the context ends.
func (g *guard) run(ctx context.Context) {
	g.watch.Silence = g.c.opts.LeaseSilence
	if g.watch.Silence < 0 {
		return
	}
	for {
		timer := g.c.opts.Clock.NewTimer(g.watch.Every())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
			_ = g.awake() // the process may have been suspended until now
			began := g.c.opts.Clock.Now()
			err := g.look(ctx)
			_ = g.awake() // or while it looked
			g.found(err, began)
			g.prod()
		}
	}
}

// look says why the cluster cannot be seen well enough. It returns nil if all is well, or if the leases, read live, are
// as old as the informer says. Once targets are told that it cannot be seen, it can only when nothing is broken.
func (g *guard) look(ctx context.Context) error {
	silence, now := g.watch.Silence, g.c.opts.Clock.Now()
	g.mu.Lock()
	quiet, was, slept := now.Sub(g.advanced), g.err, !g.woke.IsZero()
	g.mu.Unlock()
	for _, l := range g.c.allLinks() {
		if since, err := l.broken(now); err != nil && (since >= silence || was != nil) {
			return fmt.Errorf("the watch of %s has been broken for %s: %w", l.what, since.Round(time.Second), err)
		}
	}
	var err error
	if g.c.sources.leases != nil {
		looks, cancel := context.WithTimeout(ctx, g.watch.Patience())
		defer cancel()
		err = g.watch.Look(looks, sighting.Facts{Quiet: quiet, Slept: slept, Told: was}, probing{g.c, g.watch.Patience()})
	}
	unread := g.c.sources.leases == nil || apierrors.IsForbidden(err)
	if slept && unread {
		return g.c.answers(ctx)
	}
	return err
}

// probing reads leases live.
type probing struct {
	*Cluster
	patience time.Duration
}

// LastShown names leases as the informer has them.
func (p probing) LastShown(from, n int) []string { return p.lastRenewed(from, n) }

// Read reads a lease.
func (p probing) Read(ctx context.Context, node string) (time.Time, error) {
	lease, err := p.readLease(ctx, node)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s: %w", p.patience, err)
	}
	return lease.RenewTime, err
}

// Shows says whether the informer has the renewal.
func (p probing) Shows(r sighting.Renewal) bool { return p.sees(r) }

// answers says why the API server does not answer, for a Cluster that has no leases or may not read them.
func (c *Cluster) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.LeaseSilence/2)
	defer cancel()
	if _, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("this process was suspended, and no node can be read since: %w", err)
	}
	return nil
}

// sees says whether the informer has this renewal of the node's lease, or a later one.
func (c *Cluster) sees(r sighting.Renewal) bool {
	obj, ok, err := c.sources.leases.GetByKey(v1.NamespaceNodeLease + "/" + r.Node)
	l, is := nodeLease(obj)
	return err == nil && ok && is && !l.Spec.RenewTime.Time.Before(r.At)
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
