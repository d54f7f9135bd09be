package nodelifecycle

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// engine is everything that the controller's lock guards. Its methods are called with the lock held, the controller's
// without.
type engine struct {
	mu      environment.Lock // never held during a write, nor while the Gate is asked
	cfg     Config
	clients Clients
	opts    Options
	around  *environment.Environment

	started bool
	begun   time.Time // when all heartbeat clocks last started
	blind   bool      // the evictor cannot see the cluster: verdicts are frozen

	monitor *health.Monitor
	zones   *zone.Tracker[string]
	turns   *ratelimitqueue.Group[zone.Key, turnKey, struct{}]
	writes  *timedworker.Set[string, struct{}]
	lifts   *timedworker.Set[string, struct{}]
	marks   *timedworker.Set[cluster.PodRef, struct{}]
	deletes *timedworker.Set[cluster.PodRef, struct{}]

	nodes     map[string]*node
	attention map[string]*node // to be considered in the next pass
	holds     map[string]string
	closed    map[zone.Key]bool // where harm is refused, as last reported
	mute      bool              // writes are refused, as last reported
	unread    map[string]*node  // whose leases are not known
	reads     bool              // somebody asks for Silent, and reads leases
	unheard   bool              // it was reported that nobody does
	changed   []string          // nodes whose standing has changed, for whoever evicts by their taints
	left      bool              // a node has gone since the last pass, so zones may have changed
	turnsOut  int
	planned   time.Time     // the last Plan
	counted   time.Time     // when listened was last brought up to date
	listened  time.Duration // for how long we had listened by then
}

// turnKey is what waits for its zone's rate: a node to be tainted or emptied or, with release, to release pods that became
// overdue while evicting them was not permitted.
type turnKey struct {
	node    string
	uid     types.UID
	release bool
}

func (n *node) turnKey(release bool) turnKey { return turnKey{n.name, n.uid, release} }

type turn = ratelimitqueue.Item[turnKey, struct{}]

// decide records a decision for the next deliver.
func (e *engine) decide(d Decision) {
	if e.opts.Observer != nil {
		d.Time = e.mu.Shown(e.mu.Now)
		e.around.Out.Add(func() { e.opts.Observer(d) })
	}
}

// backoff is that of failed writes.
func (e *engine) backoff() timedworker.Backoff {
	return timedworker.Backoff{Initial: e.cfg.RetryInitial, Max: e.cfg.RetryMax, Factor: 2, Jitter: e.opts.Jitter}
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }
