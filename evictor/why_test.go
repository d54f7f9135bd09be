package evictor_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// TestThePageHasAllThatKeepsAPod: WHY.md has every reason that a decision may give, and every kind of decision but those
// after which an eviction is as near as before.
func TestThePageHasAllThatKeepsAPod(t *testing.T) {
	text, err := os.ReadFile("WHY.md")
	require.NoError(t, err)
	page := string(text)
	untold := map[pods.Delay]bool{pods.NotDue: true, pods.NotShown: true, pods.Overdue: true} // no decision says so
	for delay := pods.NotDue; delay <= pods.Policy; delay++ {
		if !untold[delay] {
			require.Contains(t, page, "*"+delay.String()+"*")
		}
	}
	own := map[node.Standing]bool{node.Held: true, node.Announced: true, node.Tainted: true} // with reasons of their own, or none
	for standing := node.Unjudged; standing < node.Harmable; standing++ {
		if !own[standing] {
			require.Contains(t, page, "*"+standing.String()+"*")
		}
	}
	for _, reason := range []string{"Completed", "MirrorPod", "DaemonSet", "Tolerated", "TaintRemoved", "DisruptionBudget", "TooManyRequests"} {
		require.Contains(t, page, "*"+reason+"*")
	}
	near := map[evictor.Kind]bool{
		evictor.NodeRegistered: true, evictor.ConditionsWritten: true, evictor.LabelsWritten: true, evictor.TaintsWritten: true, evictor.NodeEmptied: true,
		evictor.AllZonesDownEnded: true, evictor.MarkingWaits: true, evictor.PodMarkedNotReady: true, evictor.BoundsUnmatched: true,
	}
	for kind := evictor.NodeVerdict; kind <= evictor.MarkingWaits; kind++ {
		if !near[kind] {
			require.Contains(t, page, "`"+kind.String()+"`")
		}
	}
}
