package simulation

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// checkTraces checks availability and assigns each trace to its zone.
func (w *forecast) checkTraces() {
	for i := range w.scenario.Traces {
		t := &w.scenario.Traces[i]
		place := fmt.Sprintf("trace %d", i+1)
		r, err := newRecording(t)
		if err != nil {
			w.faults.add("%s: %w", place, err)
		}
		if t.Zone == "" {
			w.faults.add("%s: zone is missing", place)
			continue
		}
		z, err := w.resolve(t.Zone)
		switch {
		case err != nil:
			w.faults.add("%s: %w", place, err)
		case z.driven:
			w.faults.add("%s: zone %q already has a trace", place, t.Zone)
		default:
			z.driven, z.trace = true, r
		}
	}
}

// replay checks the events in the order of time and reports faults in the order of the file, those of repeat in the
// first round that has them.
func (w *forecast) replay() {
	found := make([]faults, len(w.scenario.Events))
	for i := range w.scenario.Events {
		if e := &w.scenario.Events[i]; e.Repeat != nil {
			w.repeat(&found[i], e, fmt.Sprintf("event %d", i+1))
		}
	}
	plan, whole := w.scenario.plan()
	faulty := make(map[[2]int]bool) // repeated events
	for i := range plan {
		e := &plan[i]
		var own faults
		w.event(&own, e)
		if at := [2]int{e.Number, e.Inner}; e.Round > 0 && len(own) > 0 {
			if faulty[at] {
				continue
			}
			faulty[at] = true
		}
		found[e.Number-1] = append(found[e.Number-1], own...)
	}
	for _, f := range found {
		*w.faults = append(*w.faults, f...)
	}
	if !whole {
		w.faults.add("events: with all rounds of repeat there are more than %d", maxEvents)
	}
}

// repeat checks a repeat by itself.
func (w *forecast) repeat(f *faults, e *Event, place string) {
	if e.At < 0 {
		f.add("%s: at: %v is negative", place, e.At)
	}
	place += ": repeat"
	r := e.Repeat
	if r.Every <= 0 {
		f.add("%s: every: %v is not positive", place, r.Every)
	}
	if r.Times < 0 {
		f.add("%s: times: %d is negative", place, r.Times)
	}
	if len(r.Events) == 0 {
		f.add("%s: events is missing", place)
	}
}

// event checks one event and plays it.
func (w *forecast) event(f *faults, e *Planned) {
	place := e.place()
	if e.Event.At < 0 {
		f.add("%s: at: %v is negative", place, e.Event.At)
	} else {
		place = fmt.Sprintf("%s (at %v)", place, e.At)
	}
	actions := e.Actions()
	if len(actions) != 1 {
		if len(actions) == 0 {
			f.add("%s: has no action", place)
		} else {
			f.add("%s: has %d actions (%s), not exactly one", place, len(actions), strings.Join(actions, ", "))
		}
		return
	}
	var own faults
	w.act(&own, e)
	for _, err := range own {
		f.add("%s: %s: %w", place, actions[0], err)
	}
}

func (w *forecast) act(f *faults, e *Planned) {
	switch {
	case e.Fail != nil, e.Recover != nil, e.Partition != nil:
		w.kubelets(f, e)
	case e.Condition != nil:
		w.condition(f, e)
	case e.Taint != nil:
		w.taint(f, e, e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		w.taint(f, e, e.Untaint.Key, e.Untaint.Effect)
	case e.LoseLeases != nil && e.LoseLeases.ShowAfter < 0:
		f.add("showAfter: %v is negative", e.LoseLeases.ShowAfter)
	case e.Cordon != nil, e.Uncordon != nil, e.Drain != nil, e.OutOfService != nil, e.LoseLeases != nil, e.ShowLeases != nil:
		w.selected(f, e)
	case e.DeleteNode != nil:
		for _, n := range w.some(e, w.selected(f, e), func(*foreseen) bool { return true }) {
			w.deleteNode(n, e.Number, e.At)
		}
	case e.ReplaceNode != nil:
		w.replace(f, e)
	case e.Roll != nil:
		for _, of := range []struct {
			name  string
			value time.Duration
		}{{"after", e.Roll.After}, {"wait", e.Roll.Wait}} {
			if of.value < 0 {
				f.add("%s: %v is negative", of.name, of.value)
			}
		}
		w.selected(f, e)
	case e.AddNode != nil:
		w.add(f, e.AddNode, e.At)
	case e.AddPod != nil:
		w.addPod(f, e.AddPod)
	case e.DeletePod != nil:
		w.deletePod(f, e.DeletePod)
	case e.ForceDelete != nil:
		w.deletePod(f, e.ForceDelete)
	case e.API != nil:
		w.api(f, e.API)
	case e.Repeat != nil: // only within repeat: at the top level, repeat is split into its events
		f.add("repeat cannot contain repeat")
	}
}

func (w *forecast) api(f *faults, a *API) {
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

func (w *forecast) mustExist(f *faults, name string) *foreseen {
	n, err := w.node(name)
	if err != nil {
		f.add("%w", err)
	}
	return n
}

// kubelets checks and plays fail, recover and partition.
func (w *forecast) kubelets(f *faults, e *Planned) {
	if p := e.Partition; p != nil && !(p.reach() >= 0 && p.reach() <= 1) {
		f.add("clients: %v is outside 0…1", p.reach())
	}
	nodes := w.selected(f, e)
	for _, n := range nodes {
		if !n.zone.driven {
			continue
		}
		if e.nodes().Zone != "" {
			f.add("zone %q is driven by a trace", e.nodes().Zone)
			break
		}
		f.add("node %q is in zone %q, which is driven by a trace", n.name, n.zone.key)
		if e.nodes().several() {
			break // one is enough
		}
	}
	if len(*f) > 0 {
		return
	}
	for _, n := range w.some(e, nodes, func(n *foreseen) bool {
		switch {
		case e.Fail != nil:
			return !n.failed || n.parted
		case e.Partition != nil:
			return !n.failed
		}
		return n.failed
	}) {
		n.failed, n.parted = e.Recover == nil, e.Partition != nil
	}
}

func (w *forecast) condition(f *faults, e *Planned) {
	c := e.Condition
	if c.Type == "" {
		f.add("type is missing")
	}
	if !validStatus(c.Status) {
		f.add("status: %q is not one of True, False and Unknown", c.Status)
	}
	for _, n := range w.selected(f, e) {
		if !c.several() && n.failedAt(e.At) && findCondition(healthy, c.Type) >= 0 {
			f.add("node %q has failed: only a live kubelet reports conditions", n.name)
		}
	}
}

func (w *forecast) taint(f *faults, e *Planned, key string, effect v1.TaintEffect) {
	w.selected(f, e)
	checkTaint(f, "", key, effect)
}
