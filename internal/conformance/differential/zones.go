package differential

import (
	"time"

	"github.com/evictkit/evictkit/internal/scenario"
)

// comparable drops what upstream does not say of zones: changes of the rate alone, and the states into which
// zones go when all of them go down or come back together.
func comparable(lines []scenario.Line) (kept []scenario.Line) {
	together := map[time.Duration]bool{}
	for _, l := range lines {
		if l.Kind == scenario.KindCluster {
			together[l.T] = true
		}
	}
	state := map[string]string{}
	for _, l := range lines {
		if l.Kind == scenario.KindZone {
			if state[l.Zone] == l.State {
				continue
			}
			state[l.Zone] = l.State
			if together[l.T] {
				continue
			}
		}
		kept = append(kept, l)
	}
	return kept
}
