package evictor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
)

// ErrPaused is wrapped by the reason of evictions that Pause holds back.
var ErrPaused = errors.New("paused")

// gates are the two permissions. MayWrite stops every write, MayHarm only taints and evictions.
type gates struct {
	pauses   []string
	observer error
	harm     gate
	write    gate
	waiting  map[string]*record // nodes of which writes or evictions wait for a permission
}

// gate caches the answer of a closed permission until it is to be asked again.
type gate struct {
	err   error
	until time.Time
}

func newGates() gates {
	return gates{waiting: make(map[string]*record)}
}

func (g *gates) expire() {
	g.harm.until = time.Time{}
	g.write.until = time.Time{}
}

// Pause stops new taints and evictions until Resume with the same reason; reasons add up. Lifting and
// cancelling go on, deadlines run on and are armed, tokens do not accrue. When the last pause ends, what taints of others
// made due meanwhile leaves at once; what our own made due is checked again and leaves node by node, at the zone's rate.
func (e *Evictor) Pause(reason string) {
	e.mu.Lock()
	if !slices.Contains(e.gates.pauses, reason) {
		e.gates.pauses = append(e.gates.pauses, reason)
	}
	e.mu.Unlock()
	e.Kick()
}

// Resume ends Pause with that reason and says whether there was one.
func (e *Evictor) Resume(reason string) bool {
	e.mu.Lock()
	i := slices.Index(e.gates.pauses, reason)
	if i >= 0 {
		e.gates.pauses = slices.Delete(e.gates.pauses, i, i+1)
	}
	e.mu.Unlock()
	e.Kick()
	return i >= 0
}

// Paused returns the reasons in force, oldest first.
func (e *Evictor) Paused() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.gates.pauses)
}

// SetObserverHealth tells how well the evictor itself sees the cluster. While err is not nil verdicts
// are frozen and nothing is tainted or evicted, and pending work is kept; when it becomes nil all
// heartbeat clocks start anew.
func (e *Evictor) SetObserverHealth(err error) {
	const reason = "observer"
	e.mu.Lock()
	was := e.gates.observer
	e.gates.observer = err
	if err != nil && was == nil {
		e.monitor.Freeze(reason)
	}
	if err == nil && was != nil {
		e.monitor.Thaw(reason)
		e.restarted()
	}
	e.mu.Unlock()
	e.Kick()
}

// askHarm answers whether taints and evictions are permitted now. It calls the user's fence, so e.mu
// must not be held. An open permission is asked every time, a closed one after GateInterval.
func (e *Evictor) askHarm() error {
	e.mu.Lock()
	now := e.tick()
	g := &e.gates
	switch {
	case len(g.pauses) > 0:
		err := fmt.Errorf("%w: %s", ErrPaused, g.pauses[0])
		e.mu.Unlock()
		return err
	case g.observer != nil:
		err := fmt.Errorf("observer is not healthy: %w", g.observer)
		e.mu.Unlock()
		return err
	}
	closed := g.harm
	e.mu.Unlock()
	return e.ask(e.opts.MayHarm, closed, now, func(n gate) { e.gates.harm.until = n.until })
}

// askWrite answers the same for writes of any kind.
func (e *Evictor) askWrite() error {
	e.mu.Lock()
	now := e.tick()
	closed := e.gates.write
	e.mu.Unlock()
	return e.ask(e.opts.MayWrite, closed, now, func(n gate) {
		was := e.gates.write.err
		e.gates.write = n
		switch {
		case was == nil && n.err != nil:
			e.decide(Decision{Time: now, Kind: GateChanged, Reason: "writes are held back", Err: n.err})
		case was != nil && n.err == nil:
			e.decide(Decision{Time: now, Kind: GateChanged, Reason: "writes go on"})
		}
	})
}

// askAgain lets what waits for a permission ask again now; e.mu is held.
func (e *Evictor) askAgain(now time.Time) {
	waiting := e.gates.waiting
	e.gates.waiting = make(map[string]*record)
	for _, name := range sortedKeys(waiting) {
		rec := waiting[name]
		for _, set := range []*timedworker.Set[string, struct{}]{e.lifts, e.writes} {
			if _, scheduled := set.Get(name); scheduled && rec.closed {
				set.Schedule(name, struct{}{}, now)
			}
		}
		rec.closed = false
		e.armed.Try(rec.pods.Armed(pods.MayHarm), now)
	}
}

func (e *Evictor) ask(fence func() error, last gate, now time.Time, set func(gate)) error {
	if fence == nil {
		return nil
	}
	if last.err != nil && now.Before(last.until) {
		return last.err
	}
	err := fence()
	next := gate{err: err}
	if err != nil {
		next.until = now.Add(e.cfg.GateInterval)
	}
	e.mu.Lock()
	set(next)
	e.mu.Unlock()
	return err
}

// setHarm acts on a change of the permission to harm; e.mu is held. The turns are paused with it, so
// that no tokens accrue meanwhile.
func (e *Evictor) setHarm(err error, now time.Time) {
	was := e.gates.harm.err
	e.gates.harm.err = err
	if (was == nil) == (err == nil) {
		return
	}
	if err != nil {
		e.turns.Pause(e.read)
		e.decide(Decision{Time: now, Kind: GateChanged, Reason: "taints and evictions are held back", Err: err})
		return
	}
	e.turns.Resume(e.read)
	e.decide(Decision{Time: now, Kind: GateChanged, Reason: "taints and evictions go on"})
	e.askAgain(now)
	for _, name := range e.turns.AllOverdue() {
		if rec := e.records[name]; rec != nil && rec.Stage() != node.Watched { // those are armed anew after their grace, and wait then
			e.turns.WaitToRelease(name, string(rec.uid), rec.zone, e.read)
		}
	}
	for _, name := range sortedKeys(e.records) {
		wake(e.writes, e.records[name], now)
	}
}
