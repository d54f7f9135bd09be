package evictor_test

import (
	"math/rand"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// livesMarkAll is Config.MarkAllAfter where MaxMarkedNodes is set.
const livesMarkAll = 200 * time.Second

// newLivesMarks says of how many nodes the pods are marked at once.
func newLivesMarks(plan livesPlan, random *rand.Rand) int {
	if plan.Policy || random.Intn(4) > 0 {
		return 0
	}
	return 1 + random.Intn(2)
}

func (p livesPlan) marks(config *evictor.Config) {
	if p.MaxMarked > 0 {
		config.MaxMarkedNodes, config.MarkAllAfter = p.MaxMarked, livesMarkAll
	}
}

// crowded is row "in a partially disrupted zone, we mark the pods of only some nodes at once": this process has marked as many
// itself, and the zone has surely been partially disrupted since the last pass, but not for long.
func (m *livesMind) crowded(known *livesNode) bool {
	if m.world.plan.MaxMarked == 0 || m.slow[known.domain].IsZero() || m.world.now.Sub(m.perhaps[known.domain]) >= livesMarkAll-m.world.config.NodeMonitorPeriod {
		return false
	}
	marked := map[string]bool{}
	for _, pod := range m.pods {
		if pod.Pod == nil || pod.marked.IsZero() || pod.DeletionTimestamp != nil || m.process.seenPods[pod.Name] != pod.Pod {
			continue
		}
		on := m.nodes[pod.Spec.NodeName]
		if on != nil && on.domain == known.domain && pod.marked.After(on.beat) && on.silent {
			marked[pod.Spec.NodeName] = true
		}
	}
	return !marked[known.object.Name] && len(marked) >= m.world.plan.MaxMarked
}
