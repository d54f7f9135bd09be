package main

import (
	"os"
	"runtime/debug"
	"sync"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// gcWhileStarting is the GC percentage until the first monitor pass: while lists are read, most objects are garbage.
// gcAfterwards is the one from then on: most objects stay, and with the usual 100 the process would take twice the
// memory that it needs.
const gcWhileStarting, gcAfterwards = 25, 50

// sparing makes the garbage collector run more often, at the cost of some CPU, above all until started is first called;
// then free memory goes back to the system. It does nothing if GOGC is set.
func sparing() (started func()) {
	if _, chosen := os.LookupEnv("GOGC"); chosen {
		return func() {}
	}
	debug.SetGCPercent(gcWhileStarting)
	return sync.OnceFunc(func() {
		debug.SetGCPercent(gcAfterwards)
		go debug.FreeOSMemory() // it collects garbage first; the pass must not wait for that
	})
}

// once returns an observer that calls started at the first pass or, without passes, when nothing is missing any more.
func once(started func()) evictor.Observer {
	return evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.Passed {
			started()
		}
	}, func(d evictor.PodDecision) {
		if d.Kind == tainteviction.Awaiting && d.Reason == "" {
			started()
		}
	})
}
