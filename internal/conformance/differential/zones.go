package differential

import (
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/zone"
)

// States of a zone that has just become empty: normal is ours, and none is what upstream stores.
var (
	normal = string(zone.Normal)
	none   = ""
)

// comparable drops what upstream does not report about zones: changes of only the rate, the states of zones when all of
// them go down or come back together, and zones in which no node counts. It returns how many of the last there were.
// After a restart, every zone is reported again.
func comparable(lines []timeline.Line, side Side, restarts []time.Duration) (kept []timeline.Line, empty int) {
	together := map[time.Duration]bool{}
	for _, l := range lines {
		if l.Kind == timeline.KindCluster {
			together[l.T] = true
		}
	}
	state := map[string]string{}
	for _, l := range lines {
		for len(restarts) > 0 && restarts[0] <= l.T {
			clear(state)
			restarts = restarts[1:]
		}
		if l.Kind == timeline.KindCluster {
			clear(state)
		}
		if l.Kind == timeline.KindZone {
			if l.State == none {
				state[l.Zone] = normal
				continue
			}
			if side == OursSide && l.Ready+l.NotReady == 0 {
				empty++
				state[l.Zone] = normal
				continue
			}
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
	return kept, empty
}
