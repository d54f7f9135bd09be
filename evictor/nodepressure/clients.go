package nodepressure

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// StatsProvider measures the node.
type StatsProvider interface {
	// Stats takes a new sample. While it fails nothing is decided.
	Stats(ctx context.Context) (Stats, error)
}

// Reclaimer gets back what no pod needs.
type Reclaimer interface {
	// Reclaim returns when it has got back what it could. An error does not stop what follows.
	Reclaim(ctx context.Context, what Reclaim) error
}

// Killer kills pods.
type Killer interface {
	// Kill writes the eviction into the pod's status and kills the pod with the given grace period. It
	// returns when the pod is dead, or has failed to die. An error is reported, and the pod counts as
	// evicted all the same: the next pass sees whether the shortage lasts.
	//
	// Under Run a Kill that has not returned after ten seconds, or one and a half times its grace period where
	// that is longer, is given up: that is reported as ErrKillTimeout, and the manager goes on. Kill is to go
	// on, too: its answer is taken whenever it comes, and until then its pod is passed over, so that nobody
	// is killed twice at once. Another pod may be killed beside it.
	//
	// The context ends when Run does, and when a hard eviction takes the place of a soft one; Kill is then to
	// return soon, and the same pod may be killed again, in less time.
	//
	// Step calls Kill in line and waits for it, however long it takes. For Step a Kill may return as soon as
	// the pod is being killed, and CleanedUp say when that is done.
	Kill(ctx context.Context, eviction Eviction) error
	// CleanedUp says whether everything the pod had has been given back.
	CleanedUp(pod *v1.Pod) bool
}

// Clients are what a Manager acts through. It calls one of them at a time, but the others while a Kill has
// not returned. Reclaimer may be nil: then nothing is reclaimed, and pods are evicted instead. What panics
// has failed.
type Clients struct {
	StatsProvider StatsProvider
	Reclaimer     Reclaimer
	Killer        Killer
}
