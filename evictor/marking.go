//go:build !thin

package evictor

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/marks"
	"github.com/evictkit/evictkit/evictor/internal/pods"
)

// grantMarks has the pods of silent nodes marked as far as their domains allow, and reports whose pods have to wait.
func (e *engine) grantMarks() {
	granted, wait := e.marks.Grant(e.podsToMark)
	for _, name := range granted {
		e.attention[name] = e.records[name]
	}
	for _, name := range wait {
		rec := e.records[name]
		e.decide(Decision{Kind: MarkingWaits, Node: name, Zone: rec.domain})
	}
}

// podsToMark says what a silent node's pods need.
func (e *engine) podsToMark(name string) marks.Need {
	rec := e.records[name]
	ready, begun := false, false
	need := marks.Need{Silent: rec.Verdict().LastBeat}
	for pod := range e.podsOn(name) {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			_, done := rec.Marks.Done[pod.UID]
			need.Pods, ready, begun = true, ready || pods.Ready(pod), begun || done
		}
	}
	need.Marked = begun || !ready
	return need
}

// silentOrNot is called for each verdict.
func (e *engine) silentOrNot(rec *record) {
	if rec.Verdict().Ready == v1.ConditionUnknown {
		e.marks.Silent(rec.name, rec.domain)
	} else {
		e.marks.Heard(rec.name)
	}
}
