package evictor

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/evictkit/evictkit/zone"
)

// outbox delivers decisions to the observer in order and without any lock held, and keeps the last of
// them for Explain.
type outbox struct {
	mu         sync.Mutex
	pending    []Decision
	delivering bool
	ring       []Decision // it grows up to size
	size, next int
	repeats    map[subject]int // where in the ring the newest decision about somebody is, if it is one that may repeat
}

// subject is who a decision is about.
type subject struct {
	node string
	pod  PodKey
}

// decide records a decision; it is delivered by the next deliver.
func (e *Evictor) decide(d Decision) {
	d.DryRun = e.opts.DryRun
	o := &e.out
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remember(d)
	if e.opts.Observer != nil || e.opts.Logger != nil || e.clients.EventSink != nil {
		o.pending = append(o.pending, d)
	}
}

// remember keeps a decision for Explain; o.mu is held. What repeats the newest one about the same pod or node counts there.
func (o *outbox) remember(d Decision) {
	if o.size == 0 {
		return
	}
	about := subject{d.Node, d.Pod.PodKey}
	may := d.Kind == EvictionDelayed || d.Kind == WriteFailed
	if at, ok := o.repeats[about]; ok && may && o.ring[at].Kind == d.Kind && o.ring[at].Reason == d.Reason {
		first := o.ring[at]
		d.Time, d.Times, d.Last = first.Time, max(first.Times, 1)+1, d.Time
		o.ring[at] = d
		return
	}
	at := len(o.ring)
	if at < o.size {
		o.ring = append(o.ring, d)
	} else {
		at = o.next
		o.forget(at)
		o.ring[at] = d
		o.next = (o.next + 1) % o.size
	}
	delete(o.repeats, about)
	if may {
		if o.repeats == nil {
			o.repeats = make(map[subject]int)
		}
		o.repeats[about] = at
	}
}

// forget drops where the repeats of a decision count that leaves the ring; o.mu is held.
func (o *outbox) forget(at int) {
	old := subject{o.ring[at].Node, o.ring[at].Pod.PodKey}
	if newest, ok := o.repeats[old]; ok && newest == at {
		delete(o.repeats, old)
	}
}

// deliver hands out what was decided. While one goroutine delivers, the others leave theirs to it.
func (e *Evictor) deliver() {
	o := &e.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.delivering {
		return
	}
	o.delivering = true
	defer func() { o.delivering = false }()
	for len(o.pending) > 0 {
		d := o.pending[0]
		o.pending[0], o.pending = Decision{}, o.pending[1:]
		e.tell(d)
	}
	o.pending = nil
}

// tell lets everybody know of one decision; the outbox's lock is held, but not while they are told.
func (e *Evictor) tell(d Decision) {
	e.out.mu.Unlock()
	defer e.out.mu.Lock() // also when one of them panics: the next deliver goes on with the rest
	if e.opts.Observer != nil {
		e.opts.Observer.Observe(d)
	}
	e.log(d)
	if e.clients.EventSink != nil {
		if event, ok := eventOf(d); ok && e.askWrite() == nil {
			e.clients.EventSink.Event(event)
		}
	}
}

func (e *Evictor) log(d Decision) {
	logger := e.opts.Logger
	if logger == nil {
		return
	}
	level := slog.LevelDebug
	switch d.Kind {
	case ConditionsWritten, TaintsWritten, PodEvicted, ZoneChanged, AllZonesDown, AllZonesDownEnded, GateChanged, DomainGateChanged, Awaiting:
		level = slog.LevelInfo
	case WriteFailed:
		level = slog.LevelWarn
	}
	if !logger.Enabled(context.Background(), level) {
		return
	}
	_, text, _ := strings.Cut(d.String(), " ")
	attrs := []slog.Attr{slog.String("kind", d.Kind.String())}
	if d.Node != "" {
		attrs = append(attrs, slog.String("node", d.Node))
	}
	if d.Pod.Name != "" {
		attrs = append(attrs, slog.String("pod", d.Pod.PodKey.String()))
	}
	logger.LogAttrs(context.Background(), level, text, attrs...)
}

// Explain returns what was decided about a node (by its name) or a pod (by namespace/name), oldest
// first, as far back as Config.ExplainSize remembers. For a pod the decisions about its node and the
// node's zone are part of the answer.
func (e *Evictor) Explain(key string) []Decision {
	nodes := map[string]bool{key: true}
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		nodes = map[string]bool{}
		e.out.each(func(d *Decision) {
			if d.Pod.Namespace == namespace && d.Pod.Name == name && d.Node != "" {
				nodes[d.Node] = true
			}
		})
	}
	zones := map[zone.Key]bool{}
	e.mu.Lock() // no longer than this: there may be much to read
	for name := range nodes {
		if rec := e.records[name]; rec != nil {
			zones[rec.zone] = true
		}
	}
	e.mu.Unlock()
	var answer []Decision
	e.out.each(func(d *Decision) {
		switch {
		case d.Kind == ZoneChanged:
			if zones[d.Zone] && (d.FromState != zone.Initial || d.State != zone.Normal) { // that it is there is no news
				answer = append(answer, *d)
			}
		case d.Kind == DomainGateChanged:
			if zones[d.Zone] {
				answer = append(answer, *d)
			}
		case d.Pod.Name != "":
			if d.Pod.PodKey.String() == key {
				answer = append(answer, *d)
			}
		case nodes[d.Node] && d.Node != "", d.Kind == AllZonesDown, d.Kind == AllZonesDownEnded, d.Kind == Awaiting:
			answer = append(answer, *d)
		}
	})
	return answer
}

// each visits what is remembered, oldest first.
func (o *outbox) each(visit func(*Decision)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.ring {
		visit(&o.ring[(o.next+i)%len(o.ring)])
	}
}
