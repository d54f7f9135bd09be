package evictortest

import (
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// Feed tells your own controller, from now on, about every node, pod and lease that changes. An evictor with this
// cluster's Clients needs no Feed. A second Feed of the same target changes nothing.
func (c *Cluster) Feed(to evictor.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.feeds, to) {
		c.feeds = append(c.feeds, to)
	}
}

// source is the cluster as a Source; its Run has nothing to do.
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

// driven is a controller under Drive.
type driven struct {
	step func(context.Context) (time.Time, error)
	next time.Time
}

// Drive makes Advance step your own controller whenever it asked to be called again, and whenever the clock moves. step is
// like Evictor.Step; a zero time asks for no further call. It is called at once, and after the evictor if both are due.
// An error fails the test.
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

// due returns when the next driven controller or the evictor wants to be stepped, false if none does.
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
