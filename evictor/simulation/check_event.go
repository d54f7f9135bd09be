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
func (e *Event) check(f faults) {
	if of := e.nodes(); of != nil {
		of.check(f)
	}
	switch {
	case e.Partition != nil && !(e.Partition.reach() >= 0 && e.Partition.reach() <= 1):
		f.in("clients").add("%v is outside 0…1", e.Partition.reach())
	case e.LoseLeases != nil:
		notNegative(f.in("showAfter"), e.LoseLeases.ShowAfter)
	case e.Condition != nil:
		e.Condition.check(f)
	case e.Taint != nil:
		checkTaint(f, e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		checkTaint(f, e.Untaint.Key, e.Untaint.Effect)
	case e.ReplaceNode != nil:
		notNegative(f.in("after"), e.ReplaceNode.After)
	case e.Drain != nil:
		e.Drain.check(f)
	case e.Roll != nil:
		notNegative(f.in("after"), e.Roll.After)
		notNegative(f.in("wait"), e.Roll.Wait)
		checkTimeout(f, e.Roll.Timeout, e.Roll.Then)
	case e.AddNode != nil:
		e.AddNode.fields().check(f)
	case e.AddPod != nil:
		e.AddPod.PodFields.check(f)
		checkObjectName(f, e.AddPod.Name)
	case e.DeletePod != nil, e.ForceDelete != nil:
		if _, name := splitPodName(e.deletes().Name); name == "" {
			f.missing("name")
		}
	case e.API != nil:
		e.API.check(f)
	case e.Repeat != nil: // the plan splits all others into their events
		f.add("repeat cannot contain repeat")
	}
}

func (c *Condition) check(f faults) {
	if c.Type == "" {
		f.missing("type")
	}
	if !validStatus(c.Status) {
		f.in("status").add("%q is not one of True, False and Unknown", c.Status)
	}
}

func (a *AddNode) check(f faults) {
	checkObjectName(f, a.Name)
	checkLabel(f.in("zone"), a.Zone)
	checkLabel(f.in("region"), a.Region)
	a.NodeFields.check(f)
	a.Pod.check(f.in("pod"))
	bounded(f.in("podsPerNode"), a.PodsPerNode, maxPodsPerNode)
	bounded(f.in("daemonSetPodsPerNode"), a.DaemonSetPodsPerNode, maxPodsPerNode)
}

func (a *API) check(f faults) {
	switch {
	case a.State == APISlow && a.Latency <= 0:
		f.in("latency").add("%v is not positive", a.Latency)
	case a.State == APISlow:
	case a.State != APIDown && a.State != APIUp && a.State != APIFailing:
		f.in("state").add("%q is not one of %s, %s, %s and %s", a.State, APIDown, APISlow, APIFailing, APIUp)
	case a.Latency != 0:
		f.at("", "latency").add("latency is allowed only with state %s", APISlow)
	}
	a.checkAnswer(f)
	if a.For != "" && a.For != ForEvictor && a.For != ForKubelets && a.For != ForAll {
		f.in("for").add("%q is not one of %s, %s and %s", a.For, ForEvictor, ForKubelets, ForAll)
	}
}

// checkAnswer reports the faults of what writes are answered.
func (a *API) checkAnswer(f faults) {
	switch {
	case a.State != APIFailing && a.Answer != "":
		f.at("", "answer").add("answer is allowed only with state %s", APIFailing)
	case a.State == APIFailing && answers[a.Answer] == nil:
		f.in("answer").add("%q is not one of %s, %s, %s and %s", a.Answer, AnswerForbidden, AnswerBusy, AnswerInternal, AnswerWritten)
	case a.State == APIFailing && a.For == ForKubelets:
		f.in("for").add("only the evictor's writes can be %s", APIFailing)
	}
}

// checkRepeat reports the faults of a repeat, without those of its events.
func (e *Event) checkRepeat(f faults) {
	notNegative(f.in("at"), e.At)
	f = f.in("repeat")
	if e.Repeat.Every <= 0 {
		f.in("every").add("%v is not positive", e.Repeat.Every)
	}
	notNegative(f.in("times"), e.Repeat.Times)
	if len(e.Repeat.Events) == 0 {
		f.missing("events")
	}
}
