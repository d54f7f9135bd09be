package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// The guard looks eight times in its silence, counted from its start.
func TestWhenTheGuardLooks(t *testing.T) {
	const began = 7 * time.Second
	for grace, every := range map[time.Duration]time.Duration{40 * time.Second: 2 * time.Second, 50 * time.Second: 2500 * time.Millisecond, 2 * time.Minute: 2500 * time.Millisecond} {
		g := newGuard(grace, began)
		for at, next := range map[time.Duration]time.Duration{began: began + every, began + every: began + every, began + every + 1: began + 2*every} {
			require.Equal(t, next, g.from(at), "grace period %v, from %v", grace, at)
		}
	}
}

// It reads three leases at each look, those that were renewed last first. If their nodes are dead, later looks read others. A
// node that is deleted has no lease. The next look but one that reads the lease of the only node that lives tells.
func TestTheGuardFindsTheNodeThatLives(t *testing.T) {
	for deleted, tells := range map[int]time.Duration{0: 87500 * time.Millisecond, 2: 85 * time.Second} {
		lastFirst := []string{"a-000", "a-007", "a-006", "a-005", "a-004", "a-003", "a-002"} // and then a-001
		s := Scenario{Zones: []Zone{{Name: "a", Nodes: 8}}, Until: 2 * time.Minute, Config: evictor.DefaultConfig()}
		s.Events = []Event{
			{At: 61 * time.Second, LoseLeases: &LoseLeases{Nodes: Nodes{Zone: "a"}}},
			{At: 61 * time.Second, Fail: named(lastFirst...)},
		}
		if deleted > 0 {
			s.Events = append(s.Events, Event{At: 61 * time.Second, DeleteNode: named(lastFirst[:deleted]...)})
		}
		lines, _, _ := told(t, newCluster(clockOf(nil)), s)
		var guard []time.Duration
		for _, l := range of(lines, timeline.KindEvent) {
			if strings.Contains(l.More, `"by":"guard"`) {
				guard = append(guard, l.T)
			}
		}
		require.Equal(t, []time.Duration{tells}, guard, deleted)
	}
}
