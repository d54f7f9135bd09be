package differential

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// elsewhere are the kinds of events that no random scenario has. TestActions plays each once.
var elsewhere = []string{"partition", "outOfService", "drain", "roll", "forceDelete", "repeat"}

// Among 1,000 scenarios is each kind of event, and each pair of kinds within a minute.
func TestScenariosContainEverything(t *testing.T) {
	seen, together, dates := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for seed := range uint64(1000) {
		c := Mixed(seed, V137)
		for _, n := range c.Nodes {
			dates[n.CreationTimestamp.Format("2006")] = true
		}
		events := c.Scenario.Events
		for i := range events {
			a := events[i].Actions()[0]
			seen[a] = true
			for k := i + 1; k < len(events) && events[k].At-events[i].At <= time.Minute; k++ {
				b := events[k].Actions()[0]
				together[fmt.Sprint(min(a, b), " and ", max(a, b))] = true
			}
		}
	}
	kinds := []string{}
	for kind := range seen {
		require.NotContains(t, elsewhere, kind)
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	require.Equal(t, []string{
		"addNode", "addPod", "api", "condition", "cordon", "deleteNode", "deletePod", "fail", "loseLeases", "recover", "replaceNode", "restart",
		"showLeases", "taint", "uncordon", "untaint",
	}, kinds)
	var missing []string
	for i, a := range kinds {
		for _, b := range kinds[i:] {
			if pair := fmt.Sprint(a, " and ", b); !together[pair] {
				missing = append(missing, pair)
			}
		}
	}
	require.Empty(t, missing)
	for _, of := range []string{"2000", "2026", "0001"} { // 0001: of none
		require.Contains(t, dates, of)
	}
}
