package simulation

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evictkit/evictkit/zone"
)

// Limits of KubeAPIQPS; the larger one is that of KubeAPIBurst, too.
const (
	leastQPS = 0.001
	mostQPS  = 1_000_000
)

// Limits on what a scenario generates, so that an extra digit is an error and does not exhaust the machine.
const (
	maxNodes       = 1_000_000
	maxPodsPerNode = 100_000
	maxPods        = 100_000_000
	shortest       = time.Millisecond          // of what repeats until the end
	longest        = 10 * 365 * 24 * time.Hour // a scenario
)

// check generates the zones and plans the events. It returns all faults that do not depend on what happens in the
// scenario, at once, for Faults to find, or nil. Events, zones and traces are named by their number, counted from 1, such as
//
//	event 3 (at 2m0s): fail: zone "x" does not exist
//
// and events of Repeat such as event 3, round 1, event 1. Whatever else keeps an event from happening shows at its time.
func (p *player) check() error {
	f, s := newFaults(), p.scenario
	f.in("config").config(s.Config.Nodes.Validate())
	repeats(f.in("leaseInterval"), s.LeaseInterval)
	repeats(f.in("statusInterval"), s.StatusInterval)
	notNegative(f.in("notReadyFor"), s.NotReadyFor)
	notNegative(f.in("readyAfter"), s.ReadyAfter)
	bounded(f.in("kubeAPIBurst"), s.KubeAPIBurst, mostQPS)
	if !(s.KubeAPIQPS == 0 || s.KubeAPIQPS >= leastQPS && s.KubeAPIQPS <= mostQPS) {
		f.in("kubeAPIQPS").add("%v is neither 0 nor in %v…%d", s.KubeAPIQPS, leastQPS, mostQPS)
	}
	if period := s.Config.Nodes.NodeMonitorPeriod; period > 0 { // 0 is no period, and Validate reports the rest
		repeats(f.in("config").in("nodeMonitorPeriod"), period)
	}
	for i, label := range s.Together {
		for _, why := range validation.IsQualifiedName(label) {
			f.in("together").in(item(i)).add("%q is no label: %s", label, why)
		}
	}
	complete := p.generate(f)
	p.drivers(f, complete)
	p.checkEvents(f, complete)
	switch {
	case s.Until == 0:
		f.at("", "until").add("until is missing: it says when the scenario ends")
	case s.Until < 0:
		f.in("until").add("%v is not positive", s.Until)
	case s.Until > longest:
		f.in("until").add("%v is more than %v, ten years", s.Until, longest)
	}
	return f.invalid()
}

// checkEvents plans the events, and reports their faults in the order of time, those of repeat in its first round. If not
// all zones could be generated, it does not know which names exist.
func (p *player) checkEvents(f faults, complete bool) {
	for i := range p.scenario.Events {
		if e := &p.scenario.Events[i]; e.Repeat != nil {
			e.checkRepeat(f.at(fmt.Sprintf("event %d", i+1), "events", item(i)))
		}
	}
	all, cut := p.scenario.plan()
	added := additionsOf(all)
	for i := range all {
		e := &all[i]
		if e.Round > 1 {
			continue
		}
		notNegative(f.at(e.place(), e.path()...).in("at"), e.Event.At)
		own := e.faults(f, e.At)
		action, err := e.action()
		if err != nil {
			own.add("%w", err)
			continue
		}
		own = own.in(action)
		e.check(own)
		if complete {
			p.checkNames(own, e.Event, &added)
		}
	}
	if cut > 0 {
		f.at(fmt.Sprintf("event %d", cut), "events", item(cut-1)).add("with all rounds of repeat there are more than %d", maxEvents)
	}
	p.events = all
}

// repeats reports the period of something that repeats until the end.
func repeats(f faults, period time.Duration) {
	notNegative(f, period)
	if period >= 0 && period < shortest {
		f.add("%v is too short: the shortest is %v", period, shortest)
	}
}

func additionsOf(events []Planned) additions {
	a := additions{nodes: make(map[string]bool), pods: make(map[string]bool)}
	for i := range events {
		switch e := &events[i]; {
		case e.Round > 1:
		case e.AddNode != nil:
			n := e.AddNode.fields()
			a.nodes[n.Name] = true
			a.zones = append(a.zones, zone.Key{Region: n.Region, Zone: n.Zone})
		case e.AddPod != nil:
			a.pods[e.AddPod.Name] = true
		}
	}
	return a
}

// checkNames reports nodes, pods and zones that do not exist at time 0 and that no event adds. If no event adds a node, it
// reports all that is wrong with the selection of nodes.
func (p *player) checkNames(f faults, e *Event, added *additions) {
	a := e.does()
	switch of := a.nodes; {
	case e.deletes() != nil:
		p.checkPod(f, e.deletes().Name, added)
	case e.AddPod != nil:
		p.known(f.at("", "node"), e.AddPod.Node, added.nodes)
	case of == nil || !of.check(newFaults()): // reported already
	case len(added.nodes) == 0:
		p.selected(f, &a)
	case !of.several():
		for i, name := range of.Names {
			p.known(f.at("", "nodes", item(i)), name, added.nodes)
		}
	case of.Zone != "" && !slices.ContainsFunc(added.zones, func(key zone.Key) bool { return of.Zone == key.Zone || of.Zone == key.String() }):
		if _, err := p.zone(of.Zone); err != nil {
			f.at("", "zone").add("%w", err)
		}
	}
}
