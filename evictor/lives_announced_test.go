package evictor_test

import (
	"math/rand"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// livesAnnounced is how long an announcement is believed.
const livesAnnounced = 300 * time.Second

var livesConditions = []v1.NodeConditionType{"MaintenancePlanned", "MaintenanceInProgress", "DrainInProgress"}

// livesAnnounces adds to a life that maintenance is announced.
func livesAnnounces(plan *livesPlan, random *rand.Rand) {
	if plan.Announced = random.Intn(4) == 0; !plan.Announced {
		return
	}
	for range 2 + random.Intn(12) {
		at := time.Duration(random.Intn(int(livesActive/time.Second))) * time.Second
		plan.Events = append(plan.Events, livesEvent{at: at, kind: "announce", a: random.Intn(1 << 16), b: random.Intn(1 << 16), amid: !plan.Run && random.Intn(4) == 0})
	}
}

// announce begins or ends an announcement, or has another condition go on with it.
func (w *livesWorld) announce(node *v1.Node, number int) {
	kind, status := livesConditions[number%3], []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse, ""}[number/3%4]
	node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == kind || status == "" && slices.Contains(livesConditions, c.Type)
	})
	if status != "" {
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: kind, Status: status})
	}
}

func livesAnnouncesNow(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return slices.Contains(livesConditions, c.Type) && c.Status == v1.ConditionTrue
	})
}

// announced is row "announced maintenance spares a node".
func (m *livesMind) announced(known *livesNode) bool {
	return m.world.plan.Announced && !known.announced.IsZero() && m.world.now.Sub(known.announced) < livesAnnounced
}

// excluded says that the node does not count.
func (m *livesMind) excluded(known *livesNode) bool {
	return m.world.plan.excluded(known.object) || m.announced(known)
}

func (p livesPlan) believes(config *evictor.Config) {
	if p.Announced {
		config.MaxAnnounced = livesAnnounced
	}
}
