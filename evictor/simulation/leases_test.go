package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// believing makes an evictor that believes the watch: no lease is read for it.
func believing(w *simulation.World, options evictor.Options) (simulation.Controller, error) {
	clients := w.Clients()
	source := clients.Source
	options.Clock, clients.Source = w.Clock(), nil
	e, err := evictor.New(evictor.DefaultConfig(), clients, options)
	if err != nil {
		return nil, err
	}
	return e, source.Feed(struct{ evictor.Target }{e})
}

// The watch loses the renewals of one node, or shows them too late: only an evictor that asks nobody taints it.
func TestLostLeases(t *testing.T) {
	one := simulation.Nodes{Names: []string{"a-000"}}
	for _, later := range []time.Duration{0, time.Minute} {
		for _, asks := range []bool{true, false} {
			report, _ := play(t, simulation.Scenario{
				Zones: []simulation.Zone{{Name: "a", Nodes: 4, PodsPerNode: 1}},
				Events: []simulation.Event{
					{At: 10 * time.Second, LoseLeases: &simulation.LoseLeases{Nodes: one, ShowAfter: later}},
					{At: 3 * time.Minute, ShowLeases: &one},
				},
				Until: 4 * time.Minute,
			}, func(w *simulation.World) (simulation.Controller, error) {
				if asks {
					return w.NewEvictor(evictor.Options{})
				}
				return believing(w, evictor.Options{})
			})
			require.Equal(t, asks, report.Taints == 0, later)
			require.Equal(t, asks, report.UnknownNodes == 0, later)
		}
	}
}

// Renewals that come a little late condemn nobody, and a node that dies is noticed that much later.
func TestLateLeases(t *testing.T) {
	one := simulation.Nodes{Names: []string{"a-000"}}
	for _, row := range []struct{ by, unknown time.Duration }{{0, 165 * time.Second}, {20 * time.Second, 185 * time.Second}} {
		events := []simulation.Event{{At: 2 * time.Minute, Fail: &one}}
		if row.by > 0 {
			events = append(events, simulation.Event{At: 10 * time.Second, LoseLeases: &simulation.LoseLeases{Nodes: one, ShowAfter: row.by}})
		}
		var unknown []time.Duration
		play(t, simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 4}}, Until: 4 * time.Minute, Events: events},
			func(w *simulation.World) (simulation.Controller, error) {
				began := w.Clock().Now()
				return believing(w, evictor.Options{Observer: evictor.Observe(func(d evictor.NodeDecision) {
					if d.Kind == nodelifecycle.NodeVerdict {
						unknown = append(unknown, d.Time.Sub(began))
					}
				}, nil)})
			})
		require.Equal(t, []time.Duration{row.unknown}, unknown, row.by)
	}
}
