package outages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Alarm is a false alarm: every four hours, from two hours after the start on, nothing is heard from nodes that are well.
type Alarm struct {
	Name  string
	kind  alarmKind
	lasts []time.Duration // one after the other, so that no wait is just longer than all
}

type alarmKind uint8

const (
	blind     alarmKind = iota // of all nodes, because the API is down for kubelets
	partition                  // of one zone at a time, each in its turn
	leases                     // leases are lost to watches, not to reads
)

// Alarms returns the false alarms, in the order of a table.
func Alarms() []Alarm {
	lasts := []time.Duration{15 * time.Minute, 5 * time.Minute, 45 * time.Minute}
	return []Alarm{
		{"blind observer", blind, lasts},
		{"partitioned zone", partition, lasts},
		{"a minute of lost leases", leases, []time.Duration{time.Minute}},
	}
}

const alarmEvery = 4 * time.Hour

func (a *Alarm) write(text *strings.Builder, p *played) {
	var zones []string
	for i := range p.nodes {
		zones = append(zones, p.nodes[i].Labels[v1.LabelTopologyZone])
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	if a.kind == partition {
		p.untrace()
	}
	for i, at := 0, alarmEvery/2; ; i, at = i+1, at+alarmEvery {
		end := at + a.lasts[i%len(a.lasts)]
		if end >= p.until {
			return
		}
		from, to := "api: {state: down, for: kubelets}", "api: {state: up, for: kubelets}"
		switch a.kind {
		case blind:
		case leases:
			from, to = `loseLeases: {selector: ""}`, `showLeases: {selector: ""}`
		case partition:
			well := strings.Join(p.well(zones[i%len(zones)], at, end), ", ")
			if well == "" {
				continue
			}
			from, to = "partition: {nodes: ["+well+"]}", "recover: {nodes: ["+well+"]}"
		}
		fmt.Fprintf(text, "- {at: %s, %s}\n- {at: %s, %s}\n", at, from, end, to)
	}
}

// well returns the nodes of a zone that are well from one time until another.
func (p *played) well(zone string, from, until time.Duration) (names []string) {
	ill := make(map[string]bool)
	for _, e := range p.events {
		for _, name := range e.nodes {
			switch {
			case e.at <= from:
				ill[name] = !e.recover
			case e.at <= until && !e.recover:
				ill[name] = true
			}
		}
	}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.Labels[v1.LabelTopologyZone] == zone && !ill[n.Name] {
			names = append(names, n.Name)
		}
	}
	return names
}

// untrace turns traces into events, because nodes that a trace drives cannot recover from anything else.
func (p *played) untrace() {
	for _, t := range p.traces {
		var names []string
		for i := range p.nodes {
			if n := &p.nodes[i]; n.Labels[v1.LabelTopologyZone] == t.zone {
				names = append(names, n.Name)
			}
		}
		slices.Sort(names)
		most, was := max(slices.Max(t.data), 1), len(names)
		for j, units := range t.data {
			is, at := (2*units*len(names)+most)/(2*most), time.Duration(j)*t.gap
			switch {
			case is < was:
				p.events = append(p.events, event{at, false, names[is:was]})
			case is > was:
				p.events = append(p.events, event{at, true, names[was:is]})
			}
			was = is
		}
	}
	p.traces = nil
	slices.SortStableFunc(p.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
}
