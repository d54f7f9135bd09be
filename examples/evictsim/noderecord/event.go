package noderecord

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// Kinds of events.
const (
	KindCondition = "condition" // a node condition begins or ends
	KindReclaim   = "reclaim"   // the kubelet would delete what no pod needs
	KindEvict     = "evict"
	KindStuck     = "stuck" // no pod may be evicted
)

// Event is something that the kubelet would do or report.
type Event struct {
	// T is when, in seconds.
	T    float64 `json:"t"`
	Kind string  `json:"kind"`
	// Condition is set with KindCondition. True means that it begins, otherwise it ends.
	Condition v1.NodeConditionType `json:"condition,omitempty"`
	True      bool                 `json:"true,omitempty"`
	// Threshold, Available and Since are the reason: the threshold met, what was available, and since when it has been met.
	Threshold string  `json:"threshold,omitempty"`
	Available int64   `json:"available,omitempty"`
	Since     float64 `json:"since,omitempty"`
	// Reclaim lists what would be reclaimed.
	Reclaim []string `json:"reclaim,omitempty"`
	// Pod, Cause, GracePeriodSeconds and Message are set with KindEvict.
	Pod                string `json:"pod,omitempty"`
	Cause              string `json:"cause,omitempty"`
	GracePeriodSeconds int64  `json:"gracePeriodSeconds,omitempty"`
	Message            string `json:"message,omitempty"`
}

// String returns the event as one line of text.
func (e Event) String() string {
	at := fmt.Sprintf("%12s  ", seconds(e.T))
	why := fmt.Sprintf("%s since %s", e.Threshold, seconds(e.Since))
	switch e.Kind {
	case KindCondition:
		if !e.True {
			return at + string(e.Condition) + " ends"
		}
		return fmt.Sprintf("%s%s begins: %s, %d available", at, e.Condition, e.Threshold, e.Available)
	case KindReclaim:
		return fmt.Sprintf("%sreclaim %s: %s", at, strings.Join(e.Reclaim, " and "), why)
	case KindStuck:
		return fmt.Sprintf("%sno pod may be evicted: %s", at, why)
	}
	if e.Threshold == "" {
		why = "its limit of local storage"
	}
	return fmt.Sprintf("%sevict %s with %ds to end: %s\n%14s%s", at, e.Pod, e.GracePeriodSeconds, why, "", strings.TrimSpace(e.Message))
}

// because fills in the reason.
func (e Event) because(met nodepressure.MetThreshold, zero time.Time) Event {
	e.Threshold, e.Available, e.Since = met.Threshold.String(), met.Sample.Available, met.Since.Sub(zero).Seconds()
	return e
}
