//go:build !thin

package evictor

import (
	"context"
	"log/slog"
	"strings"

	"github.com/evictkit/evictkit/zone"
)

// deliver hands the decisions so far to the observer, the log and the event sink. Called without e.mu.
func (e *Evictor) deliver() {
	e.out.Deliver(func(d Decision) {
		if e.opts.Observer != nil {
			e.opts.Observer.Observe(d)
		}
		e.opts.log(d)
		if e.clients.EventSink != nil {
			if event, ok := eventOf(d); ok && e.askWrite() == nil {
				e.clients.EventSink.Event(event)
			}
		}
	})
}

func (o *Options) log(d Decision) {
	logger := o.Logger
	if logger == nil {
		return
	}
	level := slog.LevelDebug
	switch d.Kind {
	case ConditionsWritten, TaintsWritten, PodEvicted, ZoneChanged, AllZonesDown, AllZonesDownEnded, GateChanged, DomainGateChanged, TurnRefused, PendingChanged, Awaiting, SuspectAlive:
		level = slog.LevelInfo
	case WriteFailed, SuspectUnanswered:
		level = slog.LevelWarn
	case BoundsUnmatched:
		if level = slog.LevelWarn; d.Reason == "" {
			level = slog.LevelInfo
		}
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

// Explain returns the decisions about a node (by name) or a pod (by namespace/name), oldest first, as far back as
// Config.ExplainSize reaches. It includes those about the node's zone and about all zones. If there are decisions about
// a pod, it includes those about its node. It leaves out GateChanged, which is about everything. A delay or a failure
// that repeats is one decision, see Decision.Times.
func (e *Evictor) Explain(key string) []Decision {
	namespace, name, _ := strings.Cut(key, "/")
	pod, nodes, zones := PodKey{namespace, name}, map[string]bool{key: true}, map[zone.Key]bool{}
	e.out.Select(func(d *Decision) bool {
		if d.Pod.Name != "" && d.Pod.PodKey == pod {
			nodes[d.Node] = true
		}
		return false
	})
	e.mu.Lock() // not held below: there may be much to read
	for name := range nodes {
		if rec := e.records[name]; rec != nil {
			zones[rec.domain] = true
		}
	}
	e.mu.Unlock()
	return e.out.Select(func(d *Decision) bool {
		switch {
		case d.Kind == ZoneChanged:
			return zones[d.Zone] && (d.FromState != zone.Initial || d.State != zone.Normal) // a new, normal zone explains nothing
		case d.Kind == DomainGateChanged:
			return zones[d.Zone]
		case d.Pod.Name != "":
			return d.Pod.PodKey == pod
		}
		return nodes[d.Node] && d.Node != "" || d.Kind == AllZonesDown || d.Kind == AllZonesDownEnded || d.Kind == Awaiting
	})
}
