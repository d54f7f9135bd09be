package evictortest

import (
	"context"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/leases"
)

// Feed tells your own controller about every node, pod and lease that there is and, from now on, about each that changes. It
// reads leases for it if it is a leases.Judge. An evictor with this cluster's Clients needs no Feed. A second Feed of the same
// target changes nothing.
func (c *Cluster) Feed(to evictor.Target) {
	c.acts()
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.feeds, to) {
		return
	}
	c.feeds = append(c.feeds, to)
	c.list(to)
	if judge, ok := to.(leases.Judge); ok {
		c.readers = append(c.readers, &reader{Reader: leases.Reader{Judge: judge, Read: c.readLease, Clock: c.clock}})
	}
}

// list tells of what exists, as the list does with which an informer begins. c.mu is held.
func (c *Cluster) list(to evictor.Target) {
	for node := range c.api.Nodes.Nodes {
		to.NodeChanged(node.Name)
		if lease, err := c.world.ReadLease(context.Background(), node.Name); err == nil && !lease.RenewTime.IsZero() {
			to.LeaseObserved(node.Name, lease.RenewTime, lease.ResourceVersion)
		}
		c.api.Pods.PodsOnNode(node.Name, func(p *v1.Pod) bool {
			to.PodChanged(evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
			return true
		})
	}
}

// reader reads leases for one target, when that asks for it.
type reader struct {
	leases.Reader
	next time.Time
}

// source is the world's, but feeds as Feed does.
type source struct {
	cluster.Source
	cluster *Cluster
}

func (s source) Feed(to evictor.Target) error {
	s.cluster.Feed(to)
	return nil
}

// feeds tells everyone whom Feed has named.
type feeds Cluster

func (f *feeds) NodeChanged(name string) {
	f.known[name] = true
	for _, to := range f.feeds {
		to.NodeChanged(name)
	}
}

func (f *feeds) PodChanged(key evictor.PodKey) {
	f.pods[key.Name], f.pods[key.String()] = true, true
	for _, to := range f.feeds {
		to.PodChanged(key)
	}
}

func (f *feeds) LeaseObserved(node string, at time.Time, holder string) {
	for _, to := range f.feeds {
		to.LeaseObserved(node, at, holder)
	}
}

func (*feeds) SetObserverHealth(error) {}

// driven is the evictor, or a controller under Drive.
type driven struct {
	step func(context.Context) (time.Time, error)
	next time.Time
}

// Drive makes Advance step your own controller: at the time for which it asked, and whenever something happens in the
// cluster. So a test cannot show that the controller asked for too late a time. step is like Evictor.Step; a zero time asks
// for no further call. Drive calls it at once; when both are due, the evictor steps first. An error fails the test.
func (c *Cluster) Drive(step func(context.Context) (next time.Time, err error)) {
	c.t.Helper()
	c.acts()
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
	panicked := c.panic
	c.panic, d.next = "", next
	c.mu.Unlock()
	if panicked != "" {
		c.t.Fatalf("evictortest: a function of the test panicked, and its Options have no OnPanic: %s", panicked)
	}
}

// due returns when the first of them wants to be stepped, never if none does.
func (c *Cluster) due() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := time.Duration(math.MaxInt64)
	for _, d := range c.driven {
		if !d.next.IsZero() {
			first = min(first, d.next.Sub(Epoch))
		}
	}
	return first
}
