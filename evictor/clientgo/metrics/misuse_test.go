package metrics_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/internal/misuse"
)

func TestWrongUseIsAnswered(t *testing.T) {
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"clients that are missing, measured", func() error {
			clients := metrics.New(metrics.Options{}).Clients(evictor.Clients{})
			return misuse.Said(evictor.New(evictor.DefaultConfig(), clients, evictor.Options{}))
		}, "clients.nodeWriter: Required value"},
		{"the metrics of two evictors in one registry", func() error {
			registry := prometheus.NewRegistry()
			registry.MustRegister(metrics.New(metrics.Options{}))
			return registry.Register(metrics.New(metrics.Options{}))
		}, "duplicate metrics collector registration attempted"},
	})
}
