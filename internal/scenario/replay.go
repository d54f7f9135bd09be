package scenario

import (
	"fmt"
	"strings"
)

// checkTraces checks availability and assigns each trace to its zone.
func (w *world) checkTraces() {
	for i := range w.scenario.Availability {
		driver := &w.scenario.Availability[i]
		place := fmt.Sprintf("availability %d", i+1)
		switch {
		case driver.File == "":
			w.faults.add("%s: file is missing", place)
		case driver.Trace == nil:
			w.faults.add("%s: the trace of file %q is not loaded", place, driver.File)
		}
		if driver.Scale != nil && *driver.Scale <= 0 {
			w.faults.add("%s: scale: %d is not positive", place, *driver.Scale)
		}
		if driver.Zone == nil {
			w.faults.add("%s: zone is missing", place)
			continue
		}
		z, err := w.resolve(*driver.Zone)
		switch {
		case err != nil:
			w.faults.add("%s: %w", place, err)
		case z.driven:
			w.faults.add("%s: zone %q already has a trace", place, *driver.Zone)
		default:
			z.driven = true
			if driver.Trace != nil {
				z.trace = driver
			}
		}
	}
}

// replay checks the events in the order of time and reports faults in the order of the file, those of repeat in the
// first round that has them.
func (w *world) replay() {
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
		w.faults.add("events: with all rounds of repeat there are more than %d", MaxEvents)
	}
}

// repeat checks a repeat by itself.
func (w *world) repeat(f *faults, e *Event, place string) {
	if e.At == nil {
		f.add("%s: at is missing", place)
	} else if *e.At < 0 {
		f.add("%s: at: %v is negative", place, *e.At)
	}
	place += ": repeat"
	r := e.Repeat
	switch {
	case r.Every == nil:
		f.add("%s: every is missing", place)
	case *r.Every <= 0:
		f.add("%s: every: %v is not positive", place, *r.Every)
	}
	if r.Times != nil && *r.Times < 1 {
		f.add("%s: times: %d is less than 1", place, *r.Times)
	}
	if len(r.Events) == 0 {
		f.add("%s: events is missing", place)
	}
}

// event checks one event and plays it.
func (w *world) event(f *faults, e *Planned) {
	place := e.Place()
	switch {
	case e.Event.At == nil:
		f.add("%s: at is missing", place)
	case *e.Event.At < 0:
		f.add("%s: at: %v is negative", place, *e.Event.At)
	default:
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

// selector returns the selector of the event's action, nil if it has none.
func (e *Event) selector() *Selector {
	switch {
	case e.Partition != nil:
		return &e.Partition.Selector
	case e.Condition != nil:
		return &e.Condition.Selector
	case e.Taint != nil:
		return &e.Taint.Selector
	case e.Untaint != nil:
		return &e.Untaint.Selector
	case e.LoseLeases != nil:
		return &e.LoseLeases.Selector
	case e.ReplaceNode != nil:
		return &e.ReplaceNode.Selector
	case e.Roll != nil:
		return &e.Roll.Selector
	}
	for _, s := range []*Selector{e.Fail, e.Recover, e.Cordon, e.Uncordon, e.Drain, e.OutOfService, e.ShowLeases, e.DeleteNode} {
		if s != nil {
			return s
		}
	}
	return nil
}

func (w *world) act(f *faults, e *Planned) {
	switch {
	case e.Fail != nil, e.Recover != nil, e.Partition != nil:
		w.kubelets(f, e)
	case e.Condition != nil:
		w.condition(f, e)
	case e.Taint != nil:
		w.taint(f, e, e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		w.taint(f, e, e.Untaint.Key, e.Untaint.Effect)
	case e.LoseLeases != nil && e.LoseLeases.ShowAfter != nil && e.LoseLeases.ShowAfter.Value() <= 0:
		f.add("showAfter: must be greater than 0")
	case e.Cordon != nil, e.Uncordon != nil, e.Drain != nil, e.OutOfService != nil, e.LoseLeases != nil, e.ShowLeases != nil:
		w.selected(f, e)
	case e.DeleteNode != nil:
		for _, n := range w.some(e, w.selected(f, e), func(*node) bool { return true }) {
			w.deleteNode(n, e.Number, e.At)
		}
	case e.ReplaceNode != nil:
		w.replace(f, e)
	case e.Roll != nil:
		for _, of := range []struct {
			name  string
			value *Duration
		}{{"after", e.Roll.After}, {"wait", e.Roll.Wait}} {
			if of.value.Value() < 0 {
				f.add("%s: %v is negative", of.name, *of.value)
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

func (w *world) api(f *faults, a *API) {
	switch {
	case a.State == APISlow && a.Latency == nil:
		f.add("latency is missing")
	case a.State == APISlow && *a.Latency <= 0:
		f.add("latency: %v is not positive", *a.Latency)
	case a.State == APISlow:
	case a.State != APIDown && a.State != APIUp:
		f.add("state: %q is not one of %s, %s and %s", a.State, APIDown, APISlow, APIUp)
	case a.Latency != nil:
		f.add("latency is allowed only with state %s", APISlow)
	}
	if a.For != "" && a.For != ForEvictor && a.For != ForKubelets && a.For != ForAll {
		f.add("for: %q is not one of %s, %s and %s", a.For, ForEvictor, ForKubelets, ForAll)
	}
}

func (w *world) mustExist(f *faults, name string) *node {
	n, err := w.node(name)
	if err != nil {
		f.add("%w", err)
	}
	return n
}

// kubelets checks and plays fail, recover and partition.
func (w *world) kubelets(f *faults, e *Planned) {
	if p := e.Partition; p != nil && !(p.Reach() >= 0 && p.Reach() <= 1) {
		f.add("clients: %v is outside 0…1", p.Reach())
	}
	nodes := w.selected(f, e)
	for _, n := range nodes {
		if !n.zone.driven {
			continue
		}
		if e.selector().Zone != nil {
			f.add("zone %q is driven by a trace", *e.selector().Zone)
			break
		}
		f.add("node %q is in zone %q, which is driven by a trace", n.name, n.zone.key)
		if e.selector().Several() {
			break // one is enough
		}
	}
	if len(*f) > 0 {
		return
	}
	for _, n := range w.some(e, nodes, func(n *node) bool {
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

func (w *world) condition(f *faults, e *Planned) {
	c := e.Condition
	if c.Type == "" {
		f.add("type is missing")
	}
	if !validStatus(c.Status) {
		f.add("status: %q is not one of True, False and Unknown", c.Status)
	}
	for _, n := range w.selected(f, e) {
		if !c.Several() && n.failedAt(e.At) {
			f.add("node %q has failed: only a live kubelet reports conditions", n.name)
		}
	}
}

func (w *world) taint(f *faults, e *Planned, key, effect string) {
	w.selected(f, e)
	checkTaint(f, "", key, effect)
}
