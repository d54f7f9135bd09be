// Package outbox delivers what was decided, in order and with nothing locked, and keeps the last of it. It knows neither what that is
// nor who is told.
package outbox

import "sync"

// Outbox is for things of one sort; S is whom they are about.
type Outbox[D any, S comparable] struct {
	mu         sync.Mutex
	ring       Ring[D, S]
	pending    []D
	delivering bool
}

// New returns an Outbox that keeps things in that ring.
func New[D any, S comparable](ring Ring[D, S]) *Outbox[D, S] { return &Outbox[D, S]{ring: ring} }

// Add keeps one, to be delivered too if tell says so.
func (o *Outbox[D, S]) Add(d D, tell bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ring.add(d)
	if tell {
		o.pending = append(o.pending, d)
	}
}

// Deliver hands out what there is. While one goroutine delivers, the others leave theirs to it. If tell panics, the next Deliver goes
// on with the rest.
func (o *Outbox[D, S]) Deliver(tell func(D)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.delivering {
		return
	}
	o.delivering = true
	defer func() { o.delivering = false }()
	for len(o.pending) > 0 {
		d := o.pending[0]
		o.pending = o.pending[1:]
		o.unlocked(func() { tell(d) })
	}
	o.pending = nil
}

func (o *Outbox[D, S]) unlocked(f func()) {
	o.mu.Unlock()
	defer o.mu.Lock()
	f()
}

// Select returns copies of those kept that are wanted, oldest first. wanted is called with the Outbox locked.
func (o *Outbox[D, S]) Select(wanted func(*D) bool) (selected []D) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.ring.kept {
		if d := &o.ring.kept[(o.ring.oldest+i)%len(o.ring.kept)]; wanted(d) {
			selected = append(selected, *d)
		}
	}
	return selected
}
