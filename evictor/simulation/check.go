package simulation

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits on what a scenario generates, so that an extra digit is an error and does not exhaust the machine.
const (
	maxNodes       = 1_000_000
	maxPodsPerNode = 100_000
	maxPods        = 100_000_000
)

// check returns all faults of the scenario, whose defaults are set, at once, joined, or nil. Events, zones and traces are
// named by their number, counted from 1, such as
//
//	event 3 (at 2m0s): fail: zone "x" does not exist
//
// and events of Repeat such as event 3, round 2, event 1. It replays the events in the order of time, equal times as
// listed, and checks each against the nodes and pods that exist then, and the nodes that have failed then. What the
// evictor does is not known here: a pod that existed at the start or was added may be deleted, whether it was evicted
// or not. The cluster has the objects.
func (s *Scenario) check(c *cluster) error {
	var f faults
	s.checkSettings(&f)
	w := newForecast(s, c, &f)
	w.checkTraces()
	w.replay()
	if s.Until <= 0 {
		f.add("until: %v is not positive", s.Until)
	}
	return errors.Join(f...)
}

// checkNow checks an event that happens at once.
func (e *Event) checkNow(c *cluster) error {
	actions := e.Actions()
	if len(actions) != 1 {
		return fmt.Errorf("%d actions (%s), not exactly one", len(actions), strings.Join(actions, ", "))
	}
	var faults, own faults
	w := emptyForecast(&Scenario{ReplaceAfter: -1}, c, &faults)
	if names, some := e.names(); some { // whatever the others are
		for _, name := range names {
			if i, ok := c.nodeByID[name]; ok {
				w.known(&c.nodes[i])
			}
		}
	} else {
		w.knowAll()
	}
	w.act(&own, &Planned{Event: e})
	for _, err := range own {
		faults.add("%s: %w", actions[0], err)
	}
	return errors.Join(faults...)
}

// names returns the names of all nodes that an event can concern, false if it chooses among all that there are.
func (e *Event) names() (names []string, some bool) {
	of := e.nodes()
	switch {
	case of != nil:
		return of.Names, !of.several()
	case e.AddNode != nil:
		names = []string{e.AddNode.Name}
	case e.AddPod != nil:
		names = []string{e.AddPod.Node}
	}
	return names, true
}

// faults collects errors.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (s *Scenario) checkSettings(f *faults) {
	if err := s.Config.Validate(); err != nil {
		f.add("config: %w", err)
	}
	if s.LeaseInterval < 0 {
		f.add("leaseInterval: %v is negative", s.LeaseInterval)
	}
	if s.StatusInterval < 0 {
		f.add("statusInterval: %v is negative", s.StatusInterval)
	}
}

func bounded(f *faults, place string, n, limit int) bool {
	switch {
	case n < 0:
		f.add("%s: %d is negative", place, n)
	case n > limit:
		f.add("%s: %d is more than %d", place, n, limit)
	default:
		return true
	}
	return false
}

// label checks the value of a label; an empty value is valid.
func checkLabel(f *faults, place, value string) {
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		f.add("%s: %q: %s", place, value, strings.Join(wrong, "; "))
	}
}

// objectName checks the name of a node or pod.
func objectName(f *faults, name string) bool {
	wrong := validation.IsDNS1123Subdomain(name)
	if len(wrong) > 0 {
		f.add("name: %q: %s", name, strings.Join(wrong, "; "))
	}
	return len(wrong) == 0
}

func validEffect(effect v1.TaintEffect) bool {
	switch effect {
	case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
		return true
	}
	return false
}

func validStatus(status v1.ConditionStatus) bool {
	switch status {
	case v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown:
		return true
	}
	return false
}
