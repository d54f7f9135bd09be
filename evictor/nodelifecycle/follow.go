package nodelifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/timedworker"
)

// follows does what follows from what is known of a node. object is nil if the store does not show it as it is.
func (e *engine) follows(n *node, object *v1.Node) {
	if n.unshown != nil && n.unshown.until > 0 {
		e.attention[n.name] = n // until it is known whether it was done
	}
	if s := e.standing(n); s != n.told {
		n.told = s
		e.changed = append(e.changed, n.name)
	}
	if n.overdue && len(n.taints) == 0 {
		e.notOverdue(n)
	}
	e.markPods(n)
	if object == nil {
		return
	}
	p := e.planWrites(n, object, nil)
	if p.lift {
		schedule(e.lifts, n, e.mu.Now)
	}
	if rest := p.part(false); !rest.nothing() || p.held {
		schedule(e.writes, n, e.mu.Now)
	}
}

// schedule makes a worker look at the node at that time. Work that failed still waits for its backoff.
func schedule(set *timedworker.Set[string, struct{}], n *node, at time.Time) {
	set.ScheduleEntry(timedworker.Entry[string, struct{}]{Key: n.name, Due: at, OnDuplicate: timedworker.KeepEarliest})
}
