package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
)

// HeldBack are evictions that were due and did not happen, for one reason that the evictor gave. What disruption budgets refuse is in
// BudgetReport.
type HeldBack struct {
	Reason  string        // such as a bound of a budget, or that a node is held on which another pod of the group is
	From    time.Duration // when the first was held back
	Longest time.Duration // for how long one was
	Pods    int           // different ones
	AtEnd   int           // those of them that were still held back at the end
}

// heldBack collects them.
type heldBack struct {
	all map[string]*HeldBack // by reason
	now map[evictor.PodRef]waitingPod
	had map[waitingFor]bool // so that a pod is counted once
}

// waitingPod is an eviction that is held back.
type waitingPod struct {
	reason string
	since  time.Duration
}

type waitingFor struct {
	pod    evictor.PodRef
	reason string
}

// ofDisruptionBudget is the reason for what a PodDisruptionBudget refuses.
const ofDisruptionBudget = "DisruptionBudget"

// holds notes that a pod's eviction is due and held back.
func (h *heldBack) holds(pod evictor.PodRef, reason string, at time.Duration) {
	if h.now[pod].reason == reason {
		return
	}
	h.ends(pod, at)
	if reason == ofDisruptionBudget {
		return
	}
	if h.all == nil {
		h.all, h.now, h.had = make(map[string]*HeldBack), make(map[evictor.PodRef]waitingPod), make(map[waitingFor]bool)
	}
	if h.all[reason] == nil {
		h.all[reason] = &HeldBack{Reason: reason, From: at}
	}
	h.now[pod] = waitingPod{reason, at}
	if of := (waitingFor{pod, reason}); !h.had[of] {
		h.had[of] = true
		h.all[reason].Pods++
	}
}

// ends notes that nothing holds a pod's eviction back any more.
func (h *heldBack) ends(pod evictor.PodRef, at time.Duration) {
	was, waited := h.now[pod]
	if !waited {
		return
	}
	delete(h.now, pod)
	h.all[was.reason].Longest = max(h.all[was.reason].Longest, at-was.since)
}

// endsOn ends it for all pods of a node.
func (h *heldBack) endsOn(node string, at time.Duration) {
	for pod := range h.now {
		if pod.Node == node {
			h.ends(pod, at)
		}
	}
}

// report returns all, those first that held back longest. A pod that is gone by now was not evicted.
func (h *heldBack) report(at time.Duration, stays func(evictor.PodRef) bool) (all []HeldBack) {
	for pod, is := range h.now {
		if stays(pod) {
			of := h.all[is.reason]
			of.AtEnd++
			of.Longest = max(of.Longest, at-is.since)
		}
	}
	for _, of := range h.all {
		all = append(all, *of)
	}
	slices.SortFunc(all, func(a, b HeldBack) int {
		return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// stillThere says whether a pod exists and is not being deleted.
func (c *cluster) stillThere(pod evictor.PodRef) bool {
	i, exists := c.findPod(pod.PodKey)
	return exists && c.uidOf(&c.pods[i]) == pod.UID && !c.pods[i].terminating
}
