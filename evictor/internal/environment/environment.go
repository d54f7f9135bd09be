// Package environment is what the halves of an evictor have around them, together or each alone: one clock, one inbox, one
// memory of what is permitted, one order of decisions, and what was evicted.
package environment

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/inbox"
)

// Environment is what the parts of one evictor share.
type Environment struct {
	*Clock
	Inbox   *inbox.Inbox[cluster.PodKey]
	Permits *Permits
	Out     Outbox
	Evicted Evicted
	Parts   []Part // the first is asked first, and reports what is missing
	Panicked
	MostTurns atomic.Int64 // may be out at once; 0 means no bound

	asking   atomic.Int32 // functions of Options that run now with a Lock held
	seeing   sync.Mutex
	unseen   error                // why the evictor cannot see the cluster, as the program says
	noLease  error                // as a reader of leases says
	reported map[string]time.Time // when the failure of one was last reported; Out guards it
}

// Settings are what an Environment is made of.
type Settings struct {
	Clock    clock.PassiveClock // nil for the real one
	Gate     gate.Gate          // nil for one that permits everything
	Interval time.Duration      // for which a refusal is believed, if it names no time
	Panicked Panicked
}

// New returns an Environment without parts.
func New(s Settings) *Environment {
	e := &Environment{Clock: steady(s.Clock), Inbox: inbox.New[cluster.PodKey](), Panicked: s.Panicked, reported: make(map[string]time.Time)}
	e.Out.panicked, e.Out.failed = e.Panicked, e.Fails
	e.Evicted.pods, e.Evicted.now = make(map[cluster.PodKey]*evicted), make(map[cluster.PodKey]bool)
	e.Permits = &Permits{gate: s.Gate, clock: e.Clock, interval: s.Interval, panicked: s.Panicked, changed: e.Inbox.Kick, refused: make(map[remembered]memory)}
	return e
}

// SetObserverHealth says whether the evictor itself can see the cluster; err says why not.
func (e *Environment) SetObserverHealth(err error) { e.see(&e.unseen, err) }

// SetLeaseHealth says whether leases can be read.
func (e *Environment) SetLeaseHealth(err error) { e.see(&e.noLease, err) }

func (e *Environment) see(of *error, err error) {
	e.mayWait()
	e.seeing.Lock()
	defer e.seeing.Unlock()
	was := cmp.Or(e.unseen, e.noLease)
	*of = err
	is := cmp.Or(e.unseen, e.noLease)
	if (was == nil) != (is == nil) {
		for _, part := range e.Parts {
			part.Blind(is != nil)
		}
	}
	e.Permits.Blind(is) // once the halves know what they did not see
	if was != nil && is == nil {
		e.Kick()
	}
	e.Inbox.Kick()
}

// Kick makes all ask anew whatever was refused, and try again what has failed.
func (e *Environment) Kick() {
	e.Permits.Reask()
	for _, part := range e.Parts {
		part.Retry()
	}
	e.Inbox.Kick()
}
