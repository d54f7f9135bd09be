package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// The watch loses the renewals of one node: only an evictor that asks nobody taints it.
func TestLostLeases(t *testing.T) {
	for _, asks := range []bool{true, false} {
		one := simulation.Nodes{Names: []string{"a-000"}}
		report, _ := play(t, simulation.Scenario{
			Zones: []simulation.Zone{{Name: "a", Nodes: 4, PodsPerNode: 1}}, Until: 4 * time.Minute,
			Events: []simulation.Event{{At: 10 * time.Second, Do: simulation.LoseLeases(one)}, {At: 3 * time.Minute, Do: simulation.ShowLeases(one)}},
		}, func(w *simulation.World) (simulation.Controller, error) {
			clients := w.Clients()
			if !asks {
				clients.Confirmer = nil
			}
			return evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: w.Clock()})
		})
		require.Equal(t, asks, report.Tainted == 0)
		require.Equal(t, asks, report.Unknown == 0)
	}
}
