package scenario

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Inventory is what the files of Cluster contain. The code that loads them implements it; nil means no objects.
type Inventory interface {
	// Nodes yields every node with its zone; a duplicate is yielded twice.
	Nodes() iter.Seq2[string, ZoneKey]
	// Pod says whether a pod exists, and on which node; "" means that it is not bound.
	Pod(namespace, name string) (node string, ok bool)
}

// silencer is an Inventory that knows which nodes' kubelets are silent from the start.
type silencer interface{ Silent(node string) bool }

// labeler is an Inventory that knows the labels of nodes.
type labeler interface {
	Labels(node string) map[string]string
}

// Limits on what a scenario generates, so that an extra digit is an error and does not exhaust the machine.
const (
	MaxNodes       = 1_000_000
	MaxPodsPerNode = 100_000
	MaxPods        = 100_000_000
)

// Check returns all faults of the scenario at once, joined, in the order of the file, or nil. Events, zones of the
// cluster and entries of availability are named by their place in the file, counted from 1, such as
//
//	event 3 (at 2m0s): fail: zone "x" does not exist
//
// and events of repeat such as event 3, round 2, event 1. Check replays the events in the order of time, equal times as
// listed, and checks each against the nodes and pods that exist then, and the nodes that have failed then. What the
// evictor does is not known here: a pod that existed at the start or was added may be deleted, whether it was evicted
// or not. Inventory has the objects of the files; nil means none.
func (s *Scenario) Check(inventory Inventory) error {
	if inventory == nil {
		inventory = nothing{}
	}
	var f faults
	s.checkConfig(&f)
	w := newWorld(s, inventory, &f)
	w.checkTraces()
	w.replay()
	switch {
	case s.Until == nil:
		f.add("until is missing")
	case *s.Until < 0:
		f.add("until: %v is negative", *s.Until)
	}
	for i := range s.Expect {
		s.Expect[i].check(&f, i+1)
	}
	return errors.Join(f...)
}

// faults collects errors.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (s *Scenario) checkConfig(f *faults) {
	notNegative := func(name string, d *Duration) {
		if d.Value() < 0 {
			f.add("%s: %v is negative", name, *d)
		}
	}
	positive := func(name string, d *Duration) {
		if d != nil && *d <= 0 {
			f.add("%s: %v is not positive", name, *d)
		}
	}
	rate := func(name string, r *float64) {
		if r != nil && !(*r >= 0 && *r <= math.MaxFloat64) {
			f.add("%s: %v is not a rate: it must be finite and not negative", name, *r)
		}
	}
	c := &s.Config
	notNegative("config: nodeMonitorPeriod", c.NodeMonitorPeriod)
	notNegative("config: nodeMonitorGracePeriod", c.NodeMonitorGracePeriod)
	notNegative("config: nodeStartupGracePeriod", c.NodeStartupGracePeriod)
	rate("config: nodeEvictionRate", c.NodeEvictionRate)
	rate("config: secondaryNodeEvictionRate", c.SecondaryNodeEvictionRate)
	if n := c.LargeClusterSizeThreshold; n != nil && *n < 0 {
		f.add("config: largeClusterSizeThreshold: %d is negative", *n)
	}
	if t := c.UnhealthyZoneThreshold; t != nil && !(*t > 0 && *t <= 1) {
		f.add("config: unhealthyZoneThreshold: %v is outside (0,1]", *t)
	}
	notNegative("config: podEvictionTimeout", c.PodEvictionTimeout)
	positive("heartbeat: interval", s.Heartbeat.Interval)
	positive("heartbeat: statusInterval", s.Heartbeat.StatusInterval)
	if spread := s.Heartbeat.Spread; spread != nil && *spread != SpreadEven && *spread != SpreadNone {
		f.add("heartbeat: spread: %q is neither %s nor %s", *spread, SpreadEven, SpreadNone)
	}
	if s.Reschedule != nil {
		notNegative("reschedule: after", s.Reschedule.After)
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
func label(f *faults, place, value string) {
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

func validEffect(effect string) bool {
	switch v1.TaintEffect(effect) {
	case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
		return true
	}
	return false
}

func validStatus(status string) bool {
	switch v1.ConditionStatus(status) {
	case v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown:
		return true
	}
	return false
}

type nothing struct{}

func (nothing) Nodes() iter.Seq2[string, ZoneKey] { return func(func(string, ZoneKey) bool) {} }

func (nothing) Pod(_, _ string) (string, bool) { return "", false }
