// Package inbox collects what is to be looked at again. It knows of nobody who looks: its own lock makes that feeding never waits for
// them and may be done from anywhere.
package inbox

import (
	"sync"
	"sync/atomic"
	"time"
)

// Inbox is for nodes, by name, and pods, by a key of their own.
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

// Lease is what was seen of one: its renewTime, and its resourceVersion where that is known.
type Lease struct {
	RenewTime       time.Time
	ResourceVersion string
}

// New returns an empty Inbox.
func New[P comparable]() *Inbox[P] {
	return &Inbox[P]{wake: make(chan struct{}, 1), leases: make(map[string]Lease)}
}

// Node has a node looked at again. Before the first Take nothing is kept of it, nor of a pod: whoever takes then looks at everything
// there is, and a list of all pods is long.
func (b *Inbox[P]) Node(name string) { tell(b, &b.nodes, name) }

// Pod has a pod looked at again.
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

// Take empties the inbox, in the order of the first mention of each key.
func (b *Inbox[P]) Take() (nodes []string, pods []P) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = true
	return b.nodes.take(), b.pods.take()
}

// Empty says whether nothing is to be looked at.
func (b *Inbox[P]) Empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.nodes.list) == 0 && len(b.pods.list) == 0
}

// Early keeps a lease that may be seen before its node can be, the newest of each node; false once Leases was called.
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

// Leases returns what Early kept; from now on it keeps nothing.
func (b *Inbox[P]) Leases() map[string]Lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched.Store(true)
	leases := b.leases
	b.leases = nil
	return leases
}

// Fed says whether anything has been told at all.
func (b *Inbox[P]) Fed() bool { return b.fed.Load() }

// Kick wakes whoever waits for Wake.
func (b *Inbox[P]) Kick() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Wake is for one who waits until there is something new.
func (b *Inbox[P]) Wake() <-chan struct{} { return b.wake }

// keys are some, each once, in the order in which they came.
type keys[K comparable] struct {
	list []K
	has  map[K]struct{}
}

// keepRoom is for how many keys the room is kept.
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
