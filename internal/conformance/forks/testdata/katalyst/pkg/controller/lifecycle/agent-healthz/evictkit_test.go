package agent_healthz

import "testing"

// TestEvictkitMeasuresWhenItStops looks for the number of failed nodes of a hundred at which tainting stops.
func TestEvictkitMeasuresWhenItStops(t *testing.T) {
	for _, threshold := range []float32{0.2, 0.55} {
		stops := "never"
		for bad := 100; bad > 0; bad-- {
			if new(HealthzController).computeClusterState(100, bad, threshold) != stateNormal {
				stops = ""
				continue
			}
			if stops == "" {
				t.Logf("MEASURED %v: %d", threshold, bad+1)
			}
			break
		}
		if stops != "" {
			t.Logf("MEASURED %v: %s", threshold, stops)
		}
	}
}
