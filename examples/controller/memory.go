package main

import (
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// gcWhileStarting is the percentage by which the heap may grow between two collections until the first monitor pass. Until then
// there comes far more than stays, and the usual 100 would have the process take twice of what it needs from then on.
const gcWhileStarting = 25

// sparing collects more often, at the cost of some CPU, until what it returns is called for the first time: then the percentage is
// what it was, and what is free goes back to the system. Whoever sets GOGC has chosen.
func sparing() (started func()) {
	if _, chosen := os.LookupEnv("GOGC"); chosen {
		return func() {}
	}
	before := debug.SetGCPercent(gcWhileStarting)
	return sync.OnceFunc(func() {
		debug.SetGCPercent(before)
		go debug.FreeOSMemory() // a collection, which the pass does not wait for
	})
}

// then calls one after the other.
func then(first func(time.Duration), second func()) func(time.Duration) {
	return func(took time.Duration) {
		first(took)
		second()
	}
}
