package explain

import (
	"context"
	"log/slog"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/zone"
)

// Observer hands each decision in words to a function.
type Observer func(Entry)

// ObserveNode implements evictor.Observer.
func (o Observer) ObserveNode(d nodelifecycle.Decision) { o(Node(d)) }

// ObservePod implements evictor.Observer.
func (o Observer) ObservePod(d tainteviction.Decision) { o(Pod(d)) }

// Log returns an Observer that logs: failures at Warn, writes and what concerns zones or everything at Info, the rest at
// Debug. A line has the decision's time, its kind, node and pod and, as far as the decision has them, its zone, rate, taint, reason
// and error. A nil Logger is slog.Default().
func Log(to *slog.Logger) Observer {
	return func(e Entry) {
		handler := slog.Default().Handler()
		if to != nil {
			handler = to.Handler()
		}
		level := slog.LevelDebug
		switch {
		case e.Problem:
			level = slog.LevelWarn
		case e.Write || e.Node == "" && e.Kind != string(nodelifecycle.Passed):
			level = slog.LevelInfo
		}
		if !handler.Enabled(context.Background(), level) {
			return
		}
		line := slog.NewRecord(e.Time, level, e.subject+": "+e.Text, 0)
		line.AddAttrs(slog.String("kind", e.Kind), slog.String("node", e.Node), slog.String("pod", e.Pod))
		if e.Zone != (zone.Key{}) {
			line.AddAttrs(slog.String("zone", e.Zone.String()))
		}
		if e.Kind == string(nodelifecycle.NodeQueued) || e.Kind == string(nodelifecycle.ZoneChanged) {
			line.AddAttrs(slog.Float64("rate", e.Rate))
		}
		if e.Taint != "" {
			line.AddAttrs(slog.String("taint", e.Taint))
		}
		if e.Reason != "" {
			line.AddAttrs(slog.String("reason", e.Reason))
		}
		if e.Err != nil {
			line.AddAttrs(slog.String("error", e.Err.Error()))
		}
		_ = handler.Handle(context.Background(), line)
	}
}
