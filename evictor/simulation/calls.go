package simulation

import "time"

// calls is the state of the API for kubelets.
type calls struct {
	down bool
	slow int64 // how long a call takes
	owed map[int32]bool

	renewals, reports fifo // in flight
	comparisons       fifo // that will find a wrong status
}

// KubeletsReach sets how kubelets reach the API from now on: not at all, or with calls that take some time. Kubelets
// renew and report at their turns. A renewal that fails is skipped, and a report that fails is made when the kubelet
// next renews. A call that takes as long as the renewal interval times out.
func (c *cluster) KubeletsReach(down bool, latency time.Duration) {
	k := &c.kubelets
	was := k.down
	k.slow = int64(latency)
	k.down = down || c.renewals.period > 0 && k.slow >= c.renewals.period
	if !was || k.down {
		return
	}
	for _, t := range c.renewals.turns[c.renewals.head:] {
		if n := &c.nodes[t.node]; k.owed[t.node] && n.epoch == t.epoch && !n.failed {
			k.reports.push(turn{t.at + k.slow, t.node, t.epoch})
		}
	}
	k.owed = nil
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && !n.failed {
			c.tellPods(n, false)
		}
	}
}

// turn takes the next turn of the two: calls in flight take effect, and kubelets make new ones.
func (c *cluster) turn(turns, late *fifo, do func(*node)) {
	if late.next() <= turns.next() {
		t := late.pop()
		if n := &c.nodes[t.node]; n.epoch == t.epoch && !n.failed && !n.deleted {
			do(n)
		}
		return
	}
	t := turns.pop()
	n := &c.nodes[t.node]
	if n.epoch != t.epoch || n.failed {
		return
	}
	c.call(late, t.node, do)
	t.at += turns.period
	turns.push(t)
}

// call makes a kubelet's call now.
func (c *cluster) call(late *fifo, i int32, do func(*node)) {
	switch k := &c.kubelets; {
	case k.down && late == &k.reports:
		if k.owed == nil {
			k.owed = make(map[int32]bool)
		}
		k.owed[i] = true
	case k.down:
	case k.slow > 0:
		late.push(turn{c.now() + k.slow, i, c.nodes[i].epoch})
	default:
		do(&c.nodes[i])
	}
}
