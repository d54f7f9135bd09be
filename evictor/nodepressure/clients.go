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
	// Reclaim frees what it can, then returns. The manager reports an error, and the pass goes on.
	Reclaim(ctx context.Context, what Reclaim) error
}

// Killer kills pods.
type Killer interface {
	// Kill writes the eviction into the pod's status and kills the pod with the given grace period. It returns once the
	// pod is dead or could not be killed. The manager reports an error, but the pod still counts as evicted: the next
	// pass shows whether the shortage lasts.
	//
	// Under Run, the manager gives up a Kill that has not returned after ten seconds or, if that is longer, one and a half
	// times its grace period. It reports ErrKillTimeout and goes on. Kill should go on too: the manager takes its result
	// when it comes, and skips its pod until then, so that it never kills a pod twice at the same time. It may kill
	// another pod meanwhile.
	//
	// The context ends when Run does, and when a hard eviction replaces a soft one. Kill should then return soon; the
	// manager may kill the same pod again, with a shorter grace period.
	//
	// Step calls Kill in its own goroutine and waits for it, however long it takes. With Step, Kill may return as soon as
	// the pod is being killed; CleanedUp then says when that is done.
	Kill(ctx context.Context, eviction Eviction) error
	// CleanedUp reports whether the pod has given back everything that it used.
	CleanedUp(pod *v1.Pod) bool
}

// Clients are what a Manager acts through. It makes one call at a time, except that Kills may still be running.
// Reclaimer may be nil: then the Manager reclaims nothing and evicts pods instead. A call that panics has failed.
type Clients struct {
	StatsProvider StatsProvider
	Reclaimer     Reclaimer
	Killer        Killer
}
