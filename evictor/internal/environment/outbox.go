package environment

import "sync"

// Outbox has decisions delivered in order, with nothing locked.
type Outbox struct {
	panicked   Panicked
	failed     func(function string, why error)
	mu         sync.Mutex
	pending    []func()
	delivering bool
}

// Add queues the delivery of a decision.
func (o *Outbox) Add(tell func()) {
	o.mu.Lock()
	o.pending = append(o.pending, tell)
	o.mu.Unlock()
}

// Deliver delivers what is queued. While one goroutine delivers, others leave theirs to it. One that panics is passed over.
func (o *Outbox) Deliver() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.delivering {
		return
	}
	o.delivering = true
	defer func() { o.delivering = false }()
	for len(o.pending) > 0 {
		tell := o.pending[0]
		o.pending = o.pending[1:]
		o.unlocked(tell)
	}
	o.pending = nil
}

func (o *Outbox) unlocked(f func()) {
	o.mu.Unlock()
	defer o.mu.Lock()
	if err := o.panicked.Guard("Observer", func() error { f(); return nil }); err != nil {
		o.failed("Observer", err)
	}
}
