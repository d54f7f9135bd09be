package nodepressure_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestUnmeasuredThresholdsAreToldOnce: until they have a sample again. Those of the container file system are not told.
func TestUnmeasuredThresholdsAreToldOnce(t *testing.T) {
	measured := true
	var decisions []Decision
	s := newStepped(t, thresholds(hardly(MemoryAvailable, "100"), hardly(PIDAvailable, "10"), hardly(NodeFsAvailable, "10")), func(w *world, c *Clients, config *ManagerConfig) {
		c.StatsProvider = statsFunc(func(context.Context) (Stats, error) {
			signals := map[Signal]Sample{MemoryAvailable: {Available: 1000}, NodeFsAvailable: {Available: 1000}}
			if measured {
				signals[PIDAvailable] = Sample{Available: 1000}
			}
			return Stats{Signals: signals}, nil
		})
		config.OnDecision = func(d Decision) { decisions = append(decisions, d) }
	})
	s.until(15 * time.Second)
	require.Empty(t, s.world.log)
	require.Empty(t, decisions[0].Unmeasured)
	measured = false
	s.until(45 * time.Second)
	measured = true
	s.until(55 * time.Second)
	measured = false
	s.until(75 * time.Second)
	const told = "error: nodepressure: threshold pid.available < 10: there is no sample of pid.available: it counts as not met"
	require.Equal(t, []string{"20s " + told, "1m0s " + told}, s.world.log)
	require.Equal(t, PIDAvailable, decisions[len(decisions)-1].Unmeasured[0].Signal)
}
