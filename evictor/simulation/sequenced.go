package simulation

import (
	"strconv"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// sequenced is the cluster as the controller of StatefulSets sees it.
type sequenced struct{ *player }

func ordinalName(set podID, ordinal int) string { return set.name + "-" + strconv.Itoa(ordinal) }

func (p sequenced) First(set podID) int { return p.cluster.setRules[set].start }

func (p sequenced) Stops(set podID, ordinal int) bool {
	i, ok := p.cluster.podByID[podID{set.space, ordinalName(set, ordinal)}]
	if !ok {
		return false // if it comes back, it is absent
	}
	of := &p.cluster.pods[i]
	return !of.phase.finished() && (of.terminating || !of.ready)
}

func (p sequenced) Create(b comeback, waited bool) {
	if waited { // what it waits for meanwhile has begun, but its controller comes to it only now
		now := p.cluster.now()
		b.at, b.wait = now, max(0, b.at+b.wait-now)
	}
	p.cluster.waiting.add(b)
}

func (p sequenced) Wait(b comeback, set podID, ordinal int) {
	p.line(timeline.Line{
		T: p.cluster.Clock.Elapsed(), Kind: timeline.KindHeld, Pod: joinPodName(b.key.Namespace, b.key.Name),
		More: because(ordinalName(set, ordinal) + " comes first and is not Running and Ready (OrderedReady)"),
	})
}
