package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
)

// A pod is counted once for each reason, and waits until it is evicted, or for another reason. One that is gone was not evicted.
func TestWhatIsHeldBackHasOneReasonAtATime(t *testing.T) {
	var h heldBack
	named := func(name string) evictor.PodRef { return evictor.PodRef{PodKey: evictor.PodKey{Name: name}} }
	p, q, gone := named("p"), named("q"), named("gone")
	h.holds(p, "Budget: few", time.Minute)
	h.holds(p, "Budget: few", 2*time.Minute)
	h.holds(gone, "Budget: few", 2*time.Minute)
	h.holds(p, "Held", 4*time.Minute)
	h.holds(q, "Held", 5*time.Minute)
	h.holds(p, "Budget: few", 6*time.Minute)
	h.ends(p, 7*time.Minute)
	h.ends(p, 8*time.Minute)
	h.holds(p, ofDisruptionBudget, 9*time.Minute)
	require.Equal(t, []HeldBack{
		{Reason: "Held", From: 4 * time.Minute, Longest: 5 * time.Minute, Pods: 2, AtEnd: 1},
		{Reason: "Budget: few", From: time.Minute, Longest: 3 * time.Minute, Pods: 2},
	}, h.report(10*time.Minute, func(pod evictor.PodRef) bool { return pod != gone }))
	q.Node = "n"
	h.holds(q, "Held", 11*time.Minute)
	h.endsOn("n", 12*time.Minute)
	require.NotContains(t, h.now, q)
}
