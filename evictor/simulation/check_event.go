package simulation

import (
	"fmt"
	"strings"
)

// action returns the name of the event's action.
func (e *Event) action() (string, error) {
	actions := e.Actions()
	if len(actions) != 1 {
		return "", fmt.Errorf("%d actions (%s), not exactly one", len(actions), strings.Join(actions, ", "))
	}
	return actions[0], nil
}

// check reports the faults of an event by itself.
func (e *Event) check(f *faults) {
	if of := e.nodes(); of != nil {
		of.check(f)
	}
	switch {
	case e.Partition != nil && !(e.Partition.reach() >= 0 && e.Partition.reach() <= 1):
		f.add("clients: %v is outside 0…1", e.Partition.reach())
	case e.LoseLeases != nil:
		notNegative(f, "showAfter", e.LoseLeases.ShowAfter)
	case e.Condition != nil:
		e.Condition.check(f)
	case e.Taint != nil:
		checkTaint(f, "", e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		checkTaint(f, "", e.Untaint.Key, e.Untaint.Effect)
	case e.ReplaceNode != nil:
		notNegative(f, "after", e.ReplaceNode.After)
	case e.Drain != nil:
		checkTimeout(f, e.Drain.Timeout, e.Drain.Then)
	case e.Roll != nil:
		notNegative(f, "after", e.Roll.After)
		notNegative(f, "wait", e.Roll.Wait)
		checkTimeout(f, e.Roll.Timeout, e.Roll.Then)
	case e.AddNode != nil:
		e.AddNode.fields().check(f)
	case e.AddPod != nil:
		e.AddPod.PodFields.check(f, "")
		checkObjectName(f, e.AddPod.Name)
	case e.DeletePod != nil, e.ForceDelete != nil:
		if _, name := splitPodName(e.deletes().Name); name == "" {
			f.add("name is missing")
		}
	case e.API != nil:
		e.API.check(f)
	case e.Repeat != nil: // the plan splits all others into their events
		f.add("repeat cannot contain repeat")
	}
}

func (c *Condition) check(f *faults) {
	if c.Type == "" {
		f.add("type is missing")
	}
	if !validStatus(c.Status) {
		f.add("status: %q is not one of True, False and Unknown", c.Status)
	}
}

func (a *AddNode) check(f *faults) {
	checkObjectName(f, a.Name)
	checkLabel(f, "zone", a.Zone)
	checkLabel(f, "region", a.Region)
	a.NodeFields.check(f, "")
	a.Pod.check(f, "pod: ")
	bounded(f, "podsPerNode", a.PodsPerNode, maxPodsPerNode)
	bounded(f, "daemonSetPodsPerNode", a.DaemonSetPodsPerNode, maxPodsPerNode)
}

func (a *API) check(f *faults) {
	switch {
	case a.State == APISlow && a.Latency <= 0:
		f.add("latency: %v is not positive", a.Latency)
	case a.State == APISlow:
	case a.State != APIDown && a.State != APIUp:
		f.add("state: %q is not one of %s, %s and %s", a.State, APIDown, APISlow, APIUp)
	case a.Latency != 0:
		f.add("latency is allowed only with state %s", APISlow)
	}
	if a.For != "" && a.For != ForEvictor && a.For != ForKubelets && a.For != ForAll {
		f.add("for: %q is not one of %s, %s and %s", a.For, ForEvictor, ForKubelets, ForAll)
	}
}

// checkRepeat reports the faults of a repeat, without those of its events.
func (e *Event) checkRepeat(f *faults, place string) {
	notNegative(f, place+": at", e.At)
	if e.Repeat.Every <= 0 {
		f.add("%s: repeat: every: %v is not positive", place, e.Repeat.Every)
	}
	notNegative(f, place+": repeat: times", e.Repeat.Times)
	if len(e.Repeat.Events) == 0 {
		f.add("%s: repeat: events is missing", place)
	}
}
