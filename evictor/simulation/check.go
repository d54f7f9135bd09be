package simulation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits on what a scenario generates, so that an extra digit is an error and does not exhaust the machine.
const (
	maxNodes       = 1_000_000
	maxPodsPerNode = 100_000
	maxPods        = 100_000_000
)

// check generates the zones and plans the events. It returns all faults that do not depend on what happens in the
// scenario, at once, joined, or nil. Events, zones and traces are named by their number, counted from 1, such as
//
//	event 3 (at 2m0s): fail: zone "x" does not exist
//
// and events of Repeat such as event 3, round 1, event 1. Whatever else keeps an event from happening shows at its time.
func (p *player) check() error {
	var f faults
	s := p.scenario
	if err := s.Config.Validate(); err != nil {
		f.add("config: %w", err)
	}
	notNegative(&f, "leaseInterval", s.LeaseInterval)
	notNegative(&f, "statusInterval", s.StatusInterval)
	complete := p.generate(&f)
	p.drivers(&f, complete)
	p.checkEvents(&f, complete)
	switch {
	case s.Until == 0:
		f.add("until is missing: it says when the scenario ends")
	case s.Until < 0:
		f.add("until: %v is not positive", s.Until)
	}
	return errors.Join(f...)
}

// checkEvents plans the events, and reports their faults in the order of time, those of repeat in its first round. If not
// all zones could be generated, it does not know which names exist.
func (p *player) checkEvents(f *faults, complete bool) {
	for i := range p.scenario.Events {
		if e := &p.scenario.Events[i]; e.Repeat != nil {
			e.checkRepeat(f, fmt.Sprintf("event %d", i+1))
		}
	}
	all, whole := p.scenario.plan()
	added := additionsOf(all)
	for i := range all {
		e := &all[i]
		if e.Round > 1 || e.Registers {
			continue
		}
		notNegative(f, e.place()+": at", e.Event.At)
		action, err := e.action()
		if err != nil {
			f.add("%s (at %v): %w", e.place(), e.At, err)
			continue
		}
		var own faults
		e.check(&own)
		if complete {
			p.checkNames(&own, e.Event, &added)
		}
		for _, err := range own {
			f.add("%s (at %v): %s: %w", e.place(), e.At, action, err)
		}
	}
	if !whole {
		f.add("events: with all rounds of repeat there are more than %d", maxEvents)
	}
	p.events = all
}

// faults collects errors.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func notNegative[T int | time.Duration](f *faults, place string, value T) {
	if value < 0 {
		f.add("%s: %v is negative", place, value)
	}
}

func bounded(f *faults, place string, n, limit int) {
	notNegative(f, place, n)
	if n > limit {
		f.add("%s: %d is more than %d", place, n, limit)
	}
}

// checkLabel checks the value of a label; an empty value is valid.
func checkLabel(f *faults, place, value string) {
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		f.add("%s: %q: %s", place, value, strings.Join(wrong, "; "))
	}
}

// checkObjectName checks the name of a node or pod.
func checkObjectName(f *faults, name string) {
	if name == "" {
		f.add("name is missing")
	} else if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		f.add("name: %q: %s", name, strings.Join(wrong, "; "))
	}
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
