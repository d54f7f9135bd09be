package tainteviction

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// half is the controller as a loop drives it.
type half struct{ *Controller }

func (h half) Next() time.Time { return time.Time{} }

func (h half) Await(missing string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decide(Decision{Kind: Awaiting, Reason: missing})
}

func (h half) Failed(function string, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decide(Decision{Kind: FunctionFailed, Toleration: -1, Reason: function, Err: why})
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
