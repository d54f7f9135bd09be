package environment

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// Part is a half of an evictor, and who makes its writes.
type Part struct {
	Half
	Workers   []Worker // in this order under Step
	Evictions Worker   // takes pods away
}

// Half decides.
type Half interface {
	// Report tells the program that something is missing before anything is decided, empty that nothing is any more; or, with
	// an error, which function of its Options has failed.
	Report(what string, failed error)
	// Plan reads what has changed, and decides. It makes no write. It returns the nodes about which the parts after it
	// have to think again.
	Plan(ctx context.Context, nodes []string, pods []cluster.PodKey) (changed []string)
	// Blind says that the evictor cannot see the cluster any more, or can again.
	Blind(blind bool)
	// Retry tries again what has failed.
	Retry()
	// Next is when Plan has something to do without any change; zero for never.
	Next() time.Time
}

// Worker makes writes of one sort.
type Worker interface {
	Next() (due time.Time, ok bool)
	Step(ctx context.Context) (ran int, err error)
	Run(ctx context.Context) error
}
