package nodepressure

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// StatsProvider measures the node.
type StatsProvider interface {
	// Stats takes a new sample. If it fails, the pass decides nothing.
	Stats(ctx context.Context) (Stats, error)
}

// Reclaimer frees what no pod needs.
type Reclaimer interface {
	// Reclaim frees what it can, then returns. An error is reported, and the pass goes on.
	Reclaim(ctx context.Context, what Reclaim) error
}

// Killer kills pods.
type Killer interface {
	// Kill writes the eviction into the pod's status and kills the pod with the given grace period. It
	// Kill writes the eviction into the pod's status and kills the pod with the given grace period. It returns once the
	// pod is dead or could not be killed. An error is reported, but the pod still counts as evicted: the next pass
	// shows whether the shortage lasts.
	// Under Run, a Kill that has not returned after ten seconds, or one and a half times its grace period if that is
	// longer, is given up: that is reported as ErrKillTimeout, and the manager goes on. Kill should go on too: its result
	// is taken when it comes, and until then its pod is skipped, so that no pod is killed twice at the same time. Another
	// pod may be killed meanwhile.
	//
	// The context ends when Run does, and when a hard eviction replaces a soft one. Kill should then return soon; the same
	// pod may be killed again, with a shorter grace period.
	//
	// Step calls Kill in its own goroutine and waits for it, however long it takes. With Step, Kill may return as soon as
	// the pod is being killed; CleanedUp then says when that is done.
	Kill(ctx context.Context, eviction Eviction) error
	// CleanedUp reports whether everything the pod used has been given back.
	CleanedUp(pod *v1.Pod) bool
}

// Clients are what a Manager acts through. It makes one call at a time, except that Kills may still be running.
// Reclaimer may be nil: then nothing is reclaimed, and pods are evicted instead. A call that panics has failed.
type Clients struct {
	StatsProvider StatsProvider
	Reclaimer     Reclaimer
	Killer        Killer
}
