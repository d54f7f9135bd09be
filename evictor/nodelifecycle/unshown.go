package nodelifecycle

import (
	"cmp"
	"time"
)

// unshownSince begins to wait for the store. What was certainly written is in each version that comes after the one to which
// it was sent. What may have been written need not come with another version.
func (e *engine) unshownSince(certain bool, version string) *unshown {
	u := &unshown{certain: certain, version: version}
	if !certain || version == "" {
		u.until = e.heard() + e.cfg.NodeMonitorGracePeriod
	}
	return u
}

// resolve says what became of what the store did not show, once it is known: the store shows it, or has not shown it for one
// grace period in which we listened. version is that of the node's object, if it was just read.
func (e *engine) resolve(n *node, version string) {
	u, left := n.unshown, e.podsLeft(n)
	if left && n.emptied {
		e.dequeue(n, standings[served])
	}
	if u == nil {
		return
	}
	if u.until == 0 && version != "" && version != u.version {
		u.until = e.heard() + e.cfg.NodeMonitorGracePeriod
	}
	how := done
	switch {
	case n.tainted || left:
	case u.until == 0 || e.heard() < u.until:
		return
	case u.certain:
		how = undone
	case e.standing(n).wanted():
		how = spent
	default:
		how = dropped
	}
	n.unshown = nil
	e.attention[n.name] = n
	if n.turn != nil || u.certain && how == done { // what is being tried decides, or it was told
		return
	}
	if n.tainted {
		e.dequeue(n, standings[served])
	}
	e.turnOver(n, how)
}

// podsLeft says whether the store shows that a deletion was done of which nobody knew. If it was the last, the node is emptied.
func (e *engine) podsLeft(n *node) (left bool) {
	for ref, how := range n.leaving {
		if pod, _ := e.clients.Pods.Pod(ref.PodKey); how.lost && (!ref.Shows(pod) || pod.DeletionTimestamp != nil) {
			left, n.begun = true, true
			delete(n.leaving, ref)
		}
	}
	if left && len(n.leaving) == 0 && n.turn == nil {
		n.emptied = true
		e.decide(Decision{Kind: NodeEmptied, Node: n.name, NodeUID: n.uid})
	}
	return left
}

// heard is for how long we have listened until now: not while we could not see, nor for longer than the gap of one that runs.
func (e *engine) heard() time.Duration {
	if e.blind || e.counted.IsZero() {
		return e.listened
	}
	return e.listened + min(e.mu.Now.Sub(e.counted), e.gap())
}

func (e *engine) count() { e.listened, e.counted = e.heard(), e.mu.Now }

// absent is the time for which we did not run before this Plan, if it was longer than the gap of one that runs.
func (e *engine) absent() (gap time.Duration) {
	if gap = e.mu.Now.Sub(e.planned); gap <= e.gap() || e.planned.IsZero() {
		gap = 0
	}
	e.planned = e.mu.Now
	return gap
}

// gap is the longest time between two calls of an evictor that runs.
func (e *engine) gap() time.Duration {
	period := e.cfg.NodeMonitorPeriod
	return max(cmp.Or(e.cfg.MaxGap, e.cfg.NodeMonitorGracePeriod/4), period+period/5)
}
