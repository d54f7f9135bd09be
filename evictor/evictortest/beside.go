package evictortest

import (
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// Feed tells a controller of the test's own, from now on, of every node, pod and lease that changes. An evictor with this
// cluster's Clients is fed already; to feed one twice changes nothing.
func (c *Cluster) Feed(to evictor.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.feeds, to) {
		c.feeds = append(c.feeds, to)
	}
}

// source is the cluster as a Source; it needs nobody to run it.
type source Cluster

func (s *source) Feed(to evictor.Target, _ evictor.Config) error {
	(*Cluster)(s).Feed(to)
	return nil
}

func (*source) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (*source) Awaits() string { return "" }

// driven is a controller of the test's own.
type driven struct {
	step func(context.Context) (time.Time, error)
	next time.Time
}

// Drive lets Advance step a controller of the test's own whenever it asked to be called again and whenever the clock moves: the
// function is as Evictor.Step, and a zero time asks for nothing. It is called at once, and
// after the evictor where both are due. An error fails the test.
func (c *Cluster) Drive(step func(context.Context) (next time.Time, err error)) {
	c.t.Helper()
	d := &driven{step: step}
	c.mu.Lock()
	c.driven = append(c.driven, d)
	c.mu.Unlock()
	c.stepDriven(d)
}

func (c *Cluster) stepDriven(d *driven) {
	c.t.Helper()
	next, err := d.step(context.Background())
	c.must(err)
	c.mu.Lock()
	d.next = next
	c.mu.Unlock()
}

// due is when somebody wants to be stepped next, false when nobody does.
func (c *Cluster) due() (first time.Time, some bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, some = c.next, !c.next.IsZero()
	for _, d := range c.driven {
		if !d.next.IsZero() && (!some || d.next.Before(first)) {
			first, some = d.next, true
		}
	}
	return first, some
}
