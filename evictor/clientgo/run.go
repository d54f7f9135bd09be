package clientgo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"
)

// awaited is a list that must have arrived, in the store or at a target that is fed.
type awaited struct {
	what string
	came cache.InformerSynced
}

// runState is the state of a Cluster, which runs once.
type runState uint8

const (
	notRun runState = iota
	runs
	ended
)

// task is something that runs until the context ends.
type task func(ctx context.Context)

// Run implements cluster.Source: it runs the informers, the guard, the event recorder and the reading of leases until
// the context ends.
// Evictor.Run calls it. A program calls it only if it uses Step, or wants to see the cluster before or after
// Evictor.Run. Concurrent calls share one run, which lasts until the last of their contexts ends. After that the
// Cluster is no longer Synced and cannot run again: another call returns an error. Otherwise, only a nil context or a
// Cluster that New did not make is an error.
func (c *Cluster) Run(ctx context.Context) error {
	switch {
	case c.client == nil:
		return errors.New("clientgo: Run of a zero Cluster: make one with New or NewForConfig")
	case ctx == nil:
		return errors.New("clientgo: Run needs a context, not nil")
	}
	c.mu.Lock()
	switch c.state {
	case ended:
		c.mu.Unlock()
		return errors.New("clientgo: this Cluster's Run has ended and cannot be repeated; make another Cluster")
	case notRun:
		c.state = runs
		c.start()
	}
	c.runs++
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.runs--
	last := c.runs == 0
	if last {
		c.state = ended
	}
	c.mu.Unlock()
	if last {
		c.stop()
		c.running.Wait()
	}
	return nil
}

// start starts everything that Run runs; c.mu is held.
func (c *Cluster) start() {
	c.asked = c.opts.Clock.Now()
	ctx, cancel := context.WithCancel(context.Background())
	endEvents := c.events.start()
	c.stop = func() {
		cancel()
		endEvents()
	}
	c.launch = func(run task) {
		c.running.Add(1)
		go func() {
			defer c.running.Done()
			run(ctx)
		}()
	}
	for _, run := range slices.Concat([]task{c.guard.run, c.guard.ticks, c.trials}, c.sources.runs(), c.begin) {
		c.launch(run)
	}
}

func (s *sources) runs() (all []task) {
	for _, informer := range s.own {
		all = append(all, func(ctx context.Context) { informer.Run(ctx.Done()) })
	}
	for _, l := range s.late {
		all = append(all, l.obtain)
	}
	return all
}

// Synced reports whether the Cluster runs and its informers have delivered their first lists, to the stores and to every
// target.
func (c *Cluster) Synced() bool {
	state, lists := c.awaits()
	return state == runs && len(lists) == 0
}

// Awaits implements cluster.Source: it says what is missing before Synced, with the errors of lists and watches. Only evictors
// ask: it notes that one looks, and finds out whether this process was suspended.
func (c *Cluster) Awaits() string {
	_ = c.guard.awake()
	c.looked()
	return c.missing()
}

func (c *Cluster) missing() string {
	state, lists := c.awaits()
	switch {
	case state == notRun:
		return "its Cluster to run (Cluster.Run, which Evictor.Run does)"
	case state == ended:
		return "another Cluster: the Run of this one has ended"
	case len(lists) == 0:
		return ""
	}
	text := "the first list of " + strings.Join(lists, ", ")
	for _, l := range c.allLinks() {
		if _, err := l.broken(c.opts.Clock.Now()); err != nil {
			text += "; reading " + l.what + " fails: " + err.Error()
		}
	}
	return text
}

// awaits names the lists that have not arrived, each once. If somebody else has stopped an informer, which then delivers
// nothing more, the state is ended.
func (c *Cluster) awaits() (state runState, lists []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.awaited {
		if !a.came() && !slices.Contains(lists, a.what) {
			lists = append(lists, a.what)
		}
	}
	state = c.state
	for _, informer := range []source{c.sources.nodes, c.sources.pods, c.sources.leases} {
		if informer != nil && informer.IsStopped() {
			state = ended
		}
	}
	return state, lists
}
