package simulation

import "github.com/evictkit/evictkit/evictor"

// Pods of DaemonSets belong to their nodes, and count in no figure but Report.DaemonSetPods.

func (s *podSpec) ofDaemonSet() bool { return s.OwnerKind == "DaemonSet" }

// mostLostForGood is the largest number of names in Report.LostPods.
const mostLostForGood = 20

// recreated says whether something would make the pod anew if it were deleted: a controller, or its node's kubelet.
func (s *podSpec) recreated() bool { return s.Mirror || s.OwnerKind != "" }

// endsForGood records a pod that is about to be deleted before it has finished, if nothing recreates it.
func (c *cluster) endsForGood(p *pod) {
	if p.terminating || p.phase.finished() || p.spec.recreated() {
		return
	}
	c.lostForGood(c.keyOf(p))
}

func (c *cluster) lostForGood(key evictor.PodKey) {
	if c.stats.LostForGood++; len(c.stats.LostPods) < mostLostForGood {
		c.stats.LostPods = append(c.stats.LostPods, key)
	}
}

// diesWithNode records a pod that goes because its node was deleted: one that nobody has moved before.
func (c *cluster) diesWithNode(p *pod) {
	if !p.terminating && !p.phase.finished() && !p.spec.ofDaemonSet() && !p.spec.Mirror {
		c.stats.DiedWithNodes++
	}
}
