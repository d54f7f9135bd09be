package simulation

import (
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// The limit of each client of kube-controller-manager and of evictord: requests a second, and how many of them at once.
const (
	usualQPS   = 20
	usualBurst = 30
)

// Limits of KubeAPIQPS; the larger one is that of KubeAPIBurst, too.
const (
	leastQPS = 0.001
	mostQPS  = 1_000_000
)

// Clients of the controllers. Each has its own limit.
const (
	nodesClient     = iota // conditions, taints, labels and marks
	evictionsClient        // evictions
	clients
)

// pace is when a client may send its next request.
type pace struct {
	every time.Duration // of requests in the long run; 0 means no limit
	burst int
	full  time.Duration // when all tokens are back
}

func newPace(qps float64, burst int) pace {
	if qps <= 0 {
		return pace{}
	}
	if burst == 0 {
		burst = usualBurst
	}
	return pace{every: time.Duration(float64(time.Second) / qps), burst: burst}
}

// next returns when the next request may be sent, if that is not in the past.
func (p *pace) next() time.Duration { return p.full - time.Duration(p.burst-1)*p.every }

// sends takes a token for a request of that time.
func (p *pace) sends(at time.Duration) { p.full = max(p.full, at) + p.every }

// write is a call of a controller.
type write struct {
	kind, client int
	to           target
	after        bool // it adds to an earlier one of the same kind to the object, and does not replace it
	do           func()
}

// target is what a write is to: a node or a pod, and what of it.
type target struct {
	what, node string
	pod        evictor.PodRef
}

// paced are the writes of a client that wait to be sent. Those of nodes come before those of pods: of many pods, a controller has
// only as many writes in flight as it has workers, so that others do not wait behind all of them.
type paced struct {
	pace
	usual   pace          // with the usual limit
	longest time.Duration // that a write would wait with it
	queues  [writeKinds][]*write
	waiting map[target]*write
}

func newPaced(qps float64, burst int) (all [clients]paced) {
	for i := range all {
		all[i] = paced{pace: newPace(qps, burst), usual: newPace(usualQPS, usualBurst), waiting: make(map[target]*write)}
	}
	return all
}

// note counts a request for the usual limit.
func (p *paced) note(now time.Duration) {
	at := max(now, p.usual.next())
	p.longest = max(p.longest, at-now)
	p.usual.sends(at)
}

// wait queues a write. It joins an earlier one to the same object: a controller whose client waits makes no second.
func (p *paced) wait(w write) {
	before := p.waiting[w.to]
	switch {
	case before == nil:
		p.waiting[w.to] = &w
		p.queues[w.kind] = append(p.queues[w.kind], &w)
	case w.after:
		first := before.do
		before.do = func() { first(); w.do() }
	default:
		before.do = w.do
	}
}

// due returns when the next write is sent; never if none waits.
func (p *paced) due(now time.Duration) time.Duration {
	if len(p.waiting) == 0 {
		return never
	}
	return max(now, p.next())
}

// send returns the next write, nil if none may be sent yet.
func (p *paced) send(now time.Duration) *write {
	for kind := range p.queues {
		if q := p.queues[kind]; len(q) > 0 && p.due(now) <= now {
			p.queues[kind] = q[1:]
			delete(p.waiting, q[0].to)
			p.sends(now)
			return q[0]
		}
	}
	return nil
}
