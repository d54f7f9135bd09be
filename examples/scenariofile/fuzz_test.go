package scenariofile_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// FuzzParse: for any text, Parse returns an error, or a scenario that can be checked and played.
func FuzzParse(f *testing.F) {
	everything, err := os.ReadFile("testdata/everything.yaml")
	require.NoError(f, err)
	f.Add(everything)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenariofile.Parse("f", text)
		if err != nil {
			require.Nil(t, s)
			return
		}
		nodes := 0
		for _, z := range s.Cluster.Zones {
			nodes += max(z.Nodes, 0) * (1 + max(z.PodsPerNode, 0) + max(z.DaemonSetPodsPerNode, 0))
		}
		if nodes < 0 || nodes > 1_000 || s.Until > 10*time.Minute || s.Heartbeat.Interval < time.Second || s.Heartbeat.StatusInterval < time.Second {
			t.Skip("only slow")
		}
		for i := range s.Availability {
			s.Availability[i].Gap, s.Availability[i].Alive = 10*time.Minute, []int{3, 1}
		}
		s.Cluster.Files = nil
		played, _ := s.Simulation(context.Background(), nil)
		for i := range played.Events {
			if r := played.Events[i].Repeat; r != nil && r.Every < time.Second {
				t.Skip("only slow")
			}
		}
		if r, err := simulation.Play(context.Background(), played, nobody); err == nil {
			require.Equal(t, s.Until, r.Until)
		}
	})
}

// nobody is a controller that does nothing.
func nobody(*simulation.World) (simulation.Controller, error) {
	return simulation.StepFunc(func(context.Context) (time.Time, error) { return time.Time{}, nil }), nil
}
