package sending

import "time"

// The limit of each client of kube-controller-manager and of evictord: requests a second, and how many of them at once.
const (
	usualQPS   = 20
	UsualBurst = 30
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
		burst = UsualBurst
	}
	return pace{every: time.Duration(float64(time.Second) / qps), burst: burst}
}

// next returns when the next request may be sent, if that is not in the past.
func (p *pace) next() time.Duration { return p.full - time.Duration(p.burst-1)*p.every }

// sends takes a token for a request of that time.
func (p *pace) sends(at time.Duration) { p.full = max(p.full, at) + p.every }

// paced are the writes of a client that wait to be sent. Those of nodes come before those of pods: of many pods, a controller has
// only as many writes in flight as it has workers, so that others do not wait behind all of them.
type paced struct {
	pace
	usual   pace          // with the usual limit
	longest time.Duration // that a write would wait with it
	queues  [kinds][]*Write
	waiting map[any]*Write
}

// note counts a request for the usual limit.
func (p *paced) note(now time.Duration) {
	at := max(now, p.usual.next())
	p.longest = max(p.longest, at-now)
	p.usual.sends(at)
}

// wait queues a write. It joins an earlier one to the same object: a controller whose client waits makes no second.
func (p *paced) wait(w Write) {
	before := p.waiting[w.To]
	switch {
	case before == nil:
		p.waiting[w.To] = &w
		p.queues[w.Kind] = append(p.queues[w.Kind], &w)
	case w.After:
		first := before.Do
		before.Do = func() { first(); w.Do() }
	default:
		before.Do = w.Do
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
func (p *paced) send(now time.Duration) *Write {
	for kind := range p.queues {
		if q := p.queues[kind]; len(q) > 0 && p.due(now) <= now {
			p.queues[kind] = q[1:]
			delete(p.waiting, q[0].To)
			p.sends(now)
			return q[0]
		}
	}
	return nil
}
