package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkTraces checks availability and ties each trace to its zone.
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
			w.faults.add("%s: zone %q is driven by a trace already", place, *driver.Zone)
		default:
			z.driven = true
			if driver.Trace != nil {
				z.trace = driver
			}
		}
	}
}

// replay judges the events in the order of time and reports them in the order of the file.
func (w *world) replay() {
	order := make([]int, len(w.scenario.Events))
	for i := range order {
		order[i] = i
	}
	events := w.scenario.Events
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(events[a].Time(), events[b].Time()) })
	found := make([]faults, len(events))
	for _, i := range order {
		w.event(&found[i], &events[i], i+1)
	}
	for _, f := range found {
		*w.faults = append(*w.faults, f...)
	}
}

// event judges one event and does what it says.
func (w *world) event(f *faults, e *Event, number int) {
	place := fmt.Sprintf("event %d", number)
	switch {
	case e.At == nil:
		f.add("%s: at is missing", place)
	case *e.At < 0:
		f.add("%s: at: %v is negative", place, *e.At)
	default:
		place = fmt.Sprintf("event %d (at %v)", number, *e.At)
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
	w.act(&own, e, number)
	for _, err := range own {
		f.add("%s: %s: %w", place, actions[0], err)
	}
}

func (w *world) act(f *faults, e *Event, number int) {
	switch {
	case e.Fail != nil:
		w.setFailed(f, e.Fail, true)
	case e.Recover != nil:
		w.setFailed(f, e.Recover, false)
	case e.Condition != nil:
		w.condition(f, e)
	case e.Taint != nil:
		w.taint(f, e.Taint.Node, e.Taint.Key, e.Taint.Effect)
	case e.Untaint != nil:
		w.taint(f, e.Untaint.Node, e.Untaint.Key, e.Untaint.Effect)
	case e.Cordon != nil:
		w.mustExist(f, e.Cordon.Node)
	case e.Uncordon != nil:
		w.mustExist(f, e.Uncordon.Node)
	case e.DeleteNode != nil:
		if n := w.mustExist(f, e.DeleteNode.Node); n != nil {
			w.deleteNode(n, number, e.Time())
		}
	case e.AddNode != nil:
		w.add(f, e.AddNode, e.Time())
	case e.AddPod != nil:
		w.addPod(f, e.AddPod)
	case e.DeletePod != nil:
		w.deletePod(f, e.DeletePod)
	case e.ForceDelete != nil:
		w.deletePod(f, e.ForceDelete)
	case e.API != nil:
		if e.API.State != APIDown && e.API.State != APIUp {
			f.add("state: %q is neither %s nor %s", e.API.State, APIDown, APIUp)
		}
	}
}

func (w *world) mustExist(f *faults, name string) *node {
	n, err := w.node(name)
	if err != nil {
		f.add("%w", err)
	}
	return n
}

// setFailed judges fail and recover.
func (w *world) setFailed(f *faults, s *Selector, failed bool) {
	nodes := w.selected(f, s)
	if len(*f) > 0 {
		return
	}
	left := len(nodes)
	if s.Count != nil {
		left = *s.Count
	}
	for _, n := range nodes {
		if n.failed != failed && left > 0 {
			n.failed = failed
			left--
		}
	}
}

// selected are the nodes a selector chooses from, by name for a zone.
func (w *world) selected(f *faults, s *Selector) []*node {
	given := 0
	for _, is := range []bool{s.Zone != nil, s.Node != "", len(s.Nodes) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		f.add("names %d of zone, node and nodes, not exactly one", given)
		return nil
	}
	if s.Count != nil && *s.Count < 0 {
		f.add("count: %d is negative", *s.Count)
	}
	if s.Zone != nil {
		return w.zoneNodes(f, s)
	}
	if s.Count != nil {
		f.add("count goes only with zone")
	}
	if s.Node != "" {
		return w.named(f, s.Node)
	}
	return w.named(f, s.Nodes...)
}

// zoneNodes are the nodes of the zone that a selector names.
func (w *world) zoneNodes(f *faults, s *Selector) []*node {
	z, err := w.resolve(*s.Zone)
	if err != nil {
		f.add("%w", err)
		return nil
	}
	if z.driven {
		f.add("zone %q is driven by a trace", *s.Zone)
	}
	if s.Count != nil && *s.Count > len(z.nodes) {
		f.add("count: %d is beyond the %d nodes of zone %q", *s.Count, len(z.nodes), *s.Zone)
	}
	return z.nodes
}

// named are the nodes that a selector names one by one.
func (w *world) named(f *faults, names ...string) []*node {
	var nodes []*node
	for _, name := range names {
		n := w.mustExist(f, name)
		if n == nil {
			continue
		}
		if n.zone.driven {
			f.add("node %q is in zone %q, which is driven by a trace", name, n.zone.key)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (w *world) condition(f *faults, e *Event) {
	c := e.Condition
	if c.Type == "" {
		f.add("type is missing")
	}
	if !validStatus(c.Status) {
		f.add("status: %q is none of True, False and Unknown", c.Status)
	}
	if n := w.mustExist(f, c.Node); n != nil && n.failedAt(e.Time()) {
		f.add("node %q has failed: only a live kubelet reports conditions", c.Node)
	}
}

func (w *world) taint(f *faults, node, key, effect string) {
	w.mustExist(f, node)
	if key == "" {
		f.add("key is missing")
	}
	if !validEffect(effect) {
		f.add("effect: %q is none of NoSchedule, PreferNoSchedule and NoExecute", effect)
	}
}

func (w *world) add(f *faults, a *AddNode, at time.Duration) {
	label(f, "zone", a.Zone)
	label(f, "region", a.Region)
	if !bounded(f, "podsPerNode", a.PodsPerNode, MaxPodsPerNode) {
		return
	}
	switch {
	case a.Name == "":
		f.add("name is missing")
		return
	case w.exists(a.Name):
		f.add("node %q exists already", a.Name)
		return
	}
	if w.podSize += a.PodsPerNode; w.podSize > MaxPods {
		f.add("podsPerNode: with it %d pods are generated; at most %d are allowed", w.podSize, MaxPods)
		w.podSize -= a.PodsPerNode
		return
	}
	var pods duplicates
	for i := range a.PodsPerNode {
		pods.add(w.podExists("default", PodName(a.Name, i)), PodName(a.Name, i))
	}
	pods.report(f, "podsPerNode", "pod")
	w.addNode(&node{name: a.Name, zone: w.zone(ZoneKey{a.Region, a.Zone}), pods: a.PodsPerNode}, at)
}

func (w *world) addPod(f *faults, a *AddPod) {
	n := w.mustExist(f, a.Node)
	switch {
	case a.Name == "":
		f.add("name is missing")
	case strings.Contains(a.Name, "/"):
		f.add("name: %q holds a slash; added pods are in namespace default", a.Name)
	case w.podExists("default", a.Name):
		f.add("pod %q exists already", a.Name)
	case n != nil:
		w.addedPods[a.Name] = n
		w.everAdded[a.Name] = true
	}
}

func (w *world) deletePod(f *faults, d *DeletePod) {
	namespace, name := SplitPodName(d.Name)
	switch {
	case name == "":
		f.add("name is missing")
	case !w.podKnown(namespace, name):
		f.add("pod %q does not exist", d.Name)
	default:
		if namespace == "default" {
			delete(w.addedPods, name)
		}
		w.deletedPods[podName{namespace, name}] = w.owner(namespace, name)
	}
}
