package tainteviction

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// half is the controller as a loop drives it.
type half struct{ *Controller }

func (h half) Next() time.Time { return time.Time{} }

func (h half) Report(what string, failed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kind := Awaiting
	if failed != nil {
		kind = FunctionFailed
	}
	h.decide(Decision{Kind: kind, Toleration: -1, Reason: what, Err: failed})
}

// Plan notes what has changed.
func (h half) Plan(_ context.Context, nodes []string, pods []cluster.PodKey) (changed []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.started {
		h.begun = h.mu.Now
	}
	for _, name := range nodes {
		h.syncNode(name)
	}
	for _, key := range pods {
		h.syncPod(key)
	}
	h.started = true
	return nil
}
