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
	ring       []Decision
	next       int
}

func (o *outbox) init(size int) { o.ring = make([]Decision, 0, size) }

// decide records a decision; it is delivered by the next deliver.
func (e *Evictor) decide(d Decision) {
	d.DryRun = e.opts.DryRun
	o := &e.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if size := cap(o.ring); size > 0 {
		if len(o.ring) < size {
			o.ring = append(o.ring, d)
		} else {
			o.ring[o.next] = d
			o.next = (o.next + 1) % size
		}
	}
	if e.opts.Observer != nil || e.opts.Logger != nil || e.clients.EventSink != nil {
		o.pending = append(o.pending, d)
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
	case ConditionsWritten, TaintsWritten, PodEvicted, ZoneChanged, AllZonesDown, AllZonesDownEnded, GateChanged:
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
		case d.Pod.Name != "":
			if d.Pod.PodKey.String() == key {
				answer = append(answer, *d)
			}
		case nodes[d.Node] && d.Node != "", d.Kind == AllZonesDown, d.Kind == AllZonesDownEnded:
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
