package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/guardcases"
)

// observed is a target that keeps what it was told of the observer, and when.
type observed struct {
	target
	since func() time.Duration
	told  []guardcases.Told
}

func (o *observed) SetObserverHealth(err error) {
	o.told = append(o.told, guardcases.Told{Well: err == nil, From: o.since()})
}

// The simulated guard keeps to the table that the real one keeps to.
func TestTheGuardIsPlayedByItsRules(t *testing.T) {
	both := simulation.Nodes{Names: []string{"a-000", "a-001"}}
	for _, c := range guardcases.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			events := map[guardcases.What]simulation.Event{
				guardcases.Down:       {API: &simulation.API{State: simulation.APIDown, For: "evictor"}},
				guardcases.Up:         {API: &simulation.API{State: simulation.APIUp, For: "evictor"}},
				guardcases.Blind:      {LoseLeases: &simulation.LoseLeases{Nodes: both}},
				guardcases.Seeing:     {ShowLeases: &both},
				guardcases.NoRenewals: {API: &simulation.API{State: simulation.APIDown, For: "kubelets"}},
				guardcases.Renewals:   {API: &simulation.API{State: simulation.APIUp, For: "kubelets"}},
				guardcases.Slow:       {API: &simulation.API{State: "slow", Latency: c.Latency, For: "evictor"}},
				guardcases.Fast:       {API: &simulation.API{State: simulation.APIUp, For: "evictor"}},
			}
			s := simulation.Scenario{Zones: []simulation.Zone{{Name: "a", Nodes: 2}}, Until: guardcases.Until}
			for _, change := range c.Changes {
				e, known := events[change.What]
				require.True(t, known, change.What)
				e.At = change.At
				s.Events = append(s.Events, e)
			}
			var heard *observed
			play(t, s, func(w *simulation.World) (simulation.Controller, error) {
				began := w.Clock().Now()
				heard = &observed{since: func() time.Duration { return w.Clock().Since(began) }}
				require.NoError(t, w.Clients().Source.Feed(heard))
				return stepping(func(*simulation.World, time.Duration) (time.Duration, error) { return 0, nil })(w)
			})
			require.Empty(t, c.Fault(heard.told))
		})
	}
}
