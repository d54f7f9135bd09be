package nodelifecycle

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
)

// half is the controller as a loop drives it.
type half struct{ *Controller }

func (h half) Report(what string, failed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kind := Awaiting
	if failed != nil {
		kind = FunctionFailed
	}
	h.decide(Decision{Kind: kind, Reason: what, Err: failed})
}

// Plan notes what has changed, makes a monitor pass if one is due, and hands out turns. It schedules writes and makes none.
func (h half) Plan(ctx context.Context, nodes []string, pods []cluster.PodKey) (changed []string) {
	h.ask(ctx)
	h.read(nodes, pods)
	h.around.Out.Deliver() // a Gate that observes knows every verdict when it is asked about a turn
	h.hand(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, h.changed = h.changed, nil
	return changed
}

func (h half) read(nodes []string, pods []cluster.PodKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count()
	absent := h.absent()
	for _, name := range nodes {
		h.syncNode(name)
	}
	for _, key := range pods {
		h.syncPod(key)
	}
	for name, lease := range h.around.Inbox.Leases() {
		if _, judged := h.monitor.Verdict(name); !judged { // it may have been unknown when its lease was seen
			h.monitor.ObserveLease(name, lease.RenewTime, lease.ResourceVersion)
		}
	}
	exact := h.cfg.NodeMonitorPeriod == 0 && (len(h.attention) > 0 || h.left || h.mu.Due(h.zones.Next(h.mu.Now)))
	if exact || absent > 0 || h.around.Read().Due(h.monitor.Next()) || !h.started {
		h.pass()
		h.decide(Decision{Kind: Passed, Took: max(0, h.around.Since(h.mu.Now)), Absent: absent})
	}
	h.started = true
}

// Next is when Plan has something to do without any change.
func (h half) Next() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	var soon environment.Soonest
	if !h.mute && h.free() {
		soon.Or(h.turns.Next())
	}
	soon.Or(h.monitor.Next())
	if h.cfg.NodeMonitorPeriod == 0 {
		soon.Or(h.zones.Next(h.mu.Now))
		soon.Or(h.attendAt())
	}
	return soon.Time
}
