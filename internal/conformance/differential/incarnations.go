package differential

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/zone"
)

// incarnations are the machines that register under a name which another one had, and the pods that are made under one. Whoever
// compares knows each by a name of its own, so that he takes no fact of one for one of the other.
type incarnations struct {
	nodes, pods map[string][]time.Duration // when there was one more of that name
}

// incarnationsOf returns the case with such names, too: what is replaced there is deleted, and another one is added. A node that
// comes under a name again brings no pods along, because their names would say nothing.
func incarnationsOf(c *Case) (*incarnations, *Case) {
	in := &incarnations{map[string][]time.Duration{}, map[string][]time.Duration{}}
	events := slices.Clone(c.Scenario.Events)
	slices.SortStableFunc(events, func(a, b simulation.Event) int { return cmp.Compare(a.At, b.At) })
	zones := map[string]zone.Key{} // of every name
	for i := range c.Scenario.Cluster.Zones {
		z := &c.Scenario.Cluster.Zones[i]
		for k := range z.Nodes {
			zones[z.NodeName(k)] = keyOf(z)
		}
	}
	for _, n := range c.Nodes {
		zones[n.Name] = zone.KeyOf(n.Labels)
	}
	made := map[string]bool{} // pods, by events
	var apart []simulation.Event
	for _, e := range events {
		switch {
		case e.AddNode != nil:
			if _, again := zones[e.AddNode.Name]; again {
				in.nodes[e.AddNode.Name] = append(in.nodes[e.AddNode.Name], e.At)
			}
			zones[e.AddNode.Name] = zone.Key{Region: e.AddNode.Region, Zone: e.AddNode.Zone}
		case e.AddPod != nil:
			if made[e.AddPod.Name] {
				in.pods[e.AddPod.Name] = append(in.pods[e.AddPod.Name], e.At)
			}
			made[e.AddPod.Name] = true
		case e.ReplaceNode != nil:
			for _, name := range e.ReplaceNode.Names {
				at := e.At + e.ReplaceNode.After
				in.nodes[name] = append(in.nodes[name], at)
				apart = append(apart, simulation.Event{At: at, AddNode: &simulation.AddNode{Name: name, Zone: zones[name].Zone, Region: zones[name].Region}})
			}
			e = simulation.Event{At: e.At, DeleteNode: &e.ReplaceNode.Nodes}
		}
		apart = append(apart, e)
	}
	slices.SortStableFunc(apart, func(a, b simulation.Event) int { return cmp.Compare(a.At, b.At) })
	named := *c
	named.Scenario.Events = nil
	for i := range apart {
		named.Scenario.Events = append(named.Scenario.Events, in.event(apart[i]))
	}
	return in, &named
}

// nth is the name of who had it then.
func nth(came []time.Duration, name string, at time.Duration) string {
	n := 1
	for _, t := range came {
		if t <= at {
			n++
		}
	}
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s~%d", name, n)
}

func (in *incarnations) node(name string, at time.Duration) string {
	return nth(in.nodes[name], name, at)
}

func (in *incarnations) pod(name string, at time.Duration) string {
	return nth(in.pods[name], name, at)
}

func (in *incarnations) line(l timeline.Line) timeline.Line {
	l.Node, l.Pod = in.node(l.Node, l.T), in.pod(l.Pod, l.T)
	return l
}

// event is the event with these names.
func (in *incarnations) event(e simulation.Event) simulation.Event {
	for _, of := range []**simulation.Nodes{&e.Fail, &e.Recover, &e.Cordon, &e.Uncordon, &e.ShowLeases} {
		if *of != nil {
			*of = &simulation.Nodes{Names: in.names((*of).Names, e.At), Zone: (*of).Zone}
		}
	}
	switch {
	case e.DeleteNode != nil: // another one may come in that instant
		e.DeleteNode = &simulation.Nodes{Names: in.names(e.DeleteNode.Names, e.At-1), Zone: e.DeleteNode.Zone}
	case e.Condition != nil:
		e.Condition = of(*e.Condition)
		e.Condition.Names = in.names(e.Condition.Names, e.At)
	case e.Taint != nil:
		e.Taint = of(*e.Taint)
		e.Taint.Names = in.names(e.Taint.Names, e.At)
	case e.Untaint != nil:
		e.Untaint = of(*e.Untaint)
		e.Untaint.Names = in.names(e.Untaint.Names, e.At)
	case e.LoseLeases != nil:
		e.LoseLeases = of(*e.LoseLeases)
		e.LoseLeases.Names = in.names(e.LoseLeases.Names, e.At)
	case e.AddNode != nil:
		e.AddNode = of(*e.AddNode)
		e.AddNode.Name = in.node(e.AddNode.Name, e.At)
	case e.AddPod != nil:
		e.AddPod = of(*e.AddPod)
		e.AddPod.Name, e.AddPod.Node = in.pod(e.AddPod.Name, e.At), in.node(e.AddPod.Node, e.At)
	case e.DeletePod != nil:
		e.DeletePod = &simulation.Pod{Name: in.pod(e.DeletePod.Name, e.At-1)}
	}
	return e
}

func (in *incarnations) names(of []string, at time.Duration) (names []string) {
	for _, name := range of {
		names = append(names, in.node(name, at))
	}
	return names
}

// before is the name of who had the name before; empty if nobody had.
func before(who string) string {
	name, number, later := strings.Cut(who, "~")
	switch n, _ := strconv.Atoi(number); {
	case !later:
		return ""
	case n > 2:
		return fmt.Sprintf("%s~%d", name, n-1)
	}
	return name
}

// inherits says whether the pod of an eviction was made in the very instant in which the one that had its name was deleted.
// Upstream does not see that it is another one, and evicts it when that was due.
func (e *explainer) inherits(l Left) bool {
	for pod, was := l.Pod, before(l.Pod); was != "" && e.deleted[was] == e.bound[pod]; pod, was = was, before(was) {
		due := func(p tolerant) bool { return p.name == was && e.theirs.follows(p, l.T) }
		if l.Side == OursSide || slices.ContainsFunc(e.tolerants(), due) {
			return true
		}
	}
	return false
}

// afresh says whether an eviction is from a machine that has not failed, and that came in the very instant in which a failed one
// of its name went. Upstream goes on with what it knows of that.
func (e *explainer) afresh(l Left) bool {
	was := before(l.Node)
	gone := e.removed[was]
	came := slices.ContainsFunc(e.added, func(m moment) bool { return m.name == l.Node && m.at == gone })
	return was != "" && came && e.failing(was, gone) && !e.failing(l.Node, l.T)
}

// evictedBefore says whether the pod of an eviction was evicted from an earlier machine of the node's name already.
func (x index) evictedBefore(l timeline.Line) bool {
	for was := before(l.Node); was != ""; was = before(was) {
		if len(x[about{kind: timeline.KindEvict, node: was, pod: l.Pod}]) > 0 {
			return true
		}
	}
	return false
}
