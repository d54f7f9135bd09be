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

// turn takes the next turn of the two: calls in flight take effect, and kubelets make new ones.
func (c *cluster) turn(turns, late *fifo, do func(*node)) {
	if late.next() <= turns.next() {
		t := late.pop()
		if n := &c.nodes[t.node]; n.epoch == t.epoch && !n.failed && !n.Deleted {
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

// fifo is the next heartbeat of each kubelet in the order of time. All kubelets share one period, so one that has just
// had its turn comes last, and no heap is needed.
type fifo struct {
	period int64
	turns  []turn // from head on; those before have been taken
	head   int
}

type turn struct {
	at    int64
	node  int32
	epoch uint32
}

func (f *fifo) push(t turn) {
	if t.at < 0 {
		return // after the end of time
	}
	if f.head > len(f.turns)/2 {
		f.turns, f.head = f.turns[:copy(f.turns, f.turns[f.head:])], 0
	}
	f.turns = append(f.turns, t)
	for at := len(f.turns) - 1; at > f.head && f.turns[at-1].at > t.at; at-- {
		f.turns[at-1], f.turns[at] = t, f.turns[at-1]
	}
}

func (f *fifo) pop() turn {
	f.head++
	return f.turns[f.head-1]
}

// next returns when the next turn is; never if there is none.
func (f *fifo) next() time.Duration {
	if f.head == len(f.turns) {
		return never
	}
	return time.Duration(f.turns[f.head].at)
}
