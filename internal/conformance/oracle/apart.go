package main

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Upstream taints every tick, in passes of their own.
const (
	taintingPass = "doNoExecuteTaintingPass"
	tick         = 100 * time.Millisecond
)

// apart makes the passes that taint come half a tick after those that monitor. In virtual time, where a pass takes no
// time, both would otherwise come at the same instants for ever. At a rate such as 0.1/s each token would then come
// during a monitoring pass, which queues the node that is just being tainted again, so that the next token writes the
// same taints once more. A real pass over 1,000 nodes takes 8 ms of its period of 5 s, so this is rare there.
type apart struct {
	context.Context
	slept *atomic.Bool
}

func newApart(ctx context.Context) context.Context { return apart{ctx, &atomic.Bool{}} }

// Value is called at the beginning of each pass, which looks for its logger. The first one that taints holds no lock
// there, and has nothing to do yet.
func (a apart) Value(key any) any {
	if !a.slept.Load() && calledBy(taintingPass) && a.slept.CompareAndSwap(false, true) {
		time.Sleep(tick / 2) //nolint:forbidigo // the bubble's time
	}
	return a.Context.Value(key)
}

func calledBy(method string) bool {
	callers := make([]uintptr, 8)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "."+method) {
			return true
		}
		if !more {
			return false
		}
	}
}
