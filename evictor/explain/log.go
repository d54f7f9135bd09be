package explain

import (
	"context"
	"log/slog"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// Observer hands each decision in words to a function.
type Observer func(Entry)

// ObserveNode implements evictor.Observer.
func (o Observer) ObserveNode(d nodelifecycle.Decision) { o(Node(d)) }

// ObservePod implements evictor.Observer.
func (o Observer) ObservePod(d tainteviction.Decision) { o(Pod(d)) }

// Log returns an Observer that logs: failures at Warn, writes and what concerns zones or everything at Info, the rest at
// Debug.
func Log(to *slog.Logger) Observer {
	return func(e Entry) {
		level := slog.LevelDebug
		switch {
		case e.Problem:
			level = slog.LevelWarn
		case e.Write || e.Node == "" && e.Kind != nodelifecycle.Passed.String():
			level = slog.LevelInfo
		}
		to.LogAttrs(context.Background(), level, e.subject+": "+e.Text, slog.String("kind", e.Kind), slog.String("node", e.Node), slog.String("pod", e.Pod))
	}
}
