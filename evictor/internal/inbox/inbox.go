// Package inbox collects what is dirty. It has its own lock and calls nobody, so feeding it never waits and is possible
// from anywhere.
package inbox

import (
	"sync"
	"sync/atomic"
	"time"
)

// Inbox holds dirty nodes by name, and dirty pods by a key P.
type Inbox[P comparable] struct {
	mu      sync.Mutex
	nodes   keys[string]
	pods    keys[P]
	wake    chan struct{} // size 1: a pending wake-up is enough
	fed     atomic.Bool
	taken   bool        // guarded by mu: Take was called
	watched atomic.Bool // Leases was called
	leases  map[string]Lease
}

// Lease is what was seen of a lease: its renewTime and, if known, its resourceVersion.
type Lease struct {
	RenewTime       time.Time
	ResourceVersion string
}

// New returns an empty Inbox.
func New[P comparable]() *Inbox[P] {
	return &Inbox[P]{wake: make(chan struct{}, 1), leases: make(map[string]Lease)}
}

// Node marks a node dirty. Before the first Take, nodes and pods are not kept: the first taker looks at everything anyway,
// and a list of all pods is long.
func (b *Inbox[P]) Node(name string) { tell(b, &b.nodes, name) }

// Pod marks a pod dirty.
func (b *Inbox[P]) Pod(key P) { tell(b, &b.pods, key) }

func tell[P, K comparable](b *Inbox[P], among *keys[K], key K) {
	b.mu.Lock()
	if b.taken {
		among.add(key)
	}
	b.mu.Unlock()
	b.fed.Store(true)
	b.Kick()
}

// Take empties the inbox and returns its keys, in the order in which each was first marked.
func (b *Inbox[P]) Take() (nodes []string, pods []P) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = true
	return b.nodes.take(), b.pods.take()
}

// Empty says whether nothing is dirty.
func (b *Inbox[P]) Empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.nodes.list) == 0 && len(b.pods.list) == 0
}

// Early keeps the newest lease of each node until Leases is called, because a lease may be seen before its node. After
// that it keeps nothing and returns false.
func (b *Inbox[P]) Early(node string, lease Lease) bool {
	if b.watched.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched.Load() {
		return false
	}
	b.leases[node] = lease
	b.fed.Store(true)
	return true
}

// Leases returns what Early has kept, and ends that.
func (b *Inbox[P]) Leases() map[string]Lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched.Store(true)
	leases := b.leases
	b.leases = nil
	return leases
}

// Fed says whether anything was ever fed.
func (b *Inbox[P]) Fed() bool { return b.fed.Load() }

// Kick wakes whoever waits on Wake.
func (b *Inbox[P]) Kick() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Wake returns the channel on which one goroutine waits for something new.
func (b *Inbox[P]) Wake() <-chan struct{} { return b.wake }

// keys is an ordered set of keys.
type keys[K comparable] struct {
	list []K
	has  map[K]struct{}
}

// keepRoom is the most keys for which the map's memory is kept.
const keepRoom = 1 << 16

func (k *keys[K]) add(key K) {
	if _, ok := k.has[key]; ok {
		return
	}
	if k.has == nil {
		k.has = make(map[K]struct{})
	}
	k.has[key] = struct{}{}
	k.list = append(k.list, key)
}

func (k *keys[K]) take() []K {
	list := k.list
	k.list = nil
	if len(list) > keepRoom {
		k.has = nil
	}
	clear(k.has)
	return list
}
