package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// tellLimits prints what delayed evictions: first what refused them, then what the taints waited for, the longest delay first.
func tellLimits(w io.Writer, s *simulation.Scenario, r *simulation.Report) {
	type limit struct {
		zone string
		simulation.Limit
	}
	var all []limit
	for i := range r.Zones {
		for _, l := range r.Zones[i].Limits {
			if l.Waited <= s.Config.Nodes.NodeMonitorPeriod {
				continue // nodes only waited for the next pass
			}
			all = append(all, limit{r.Zones[i].Name, l})
		}
	}
	slices.SortStableFunc(all, func(a, b limit) int { return cmp.Compare(b.Waited, a.Waited) })
	var held []string
	if text := refusals(r); text != "" {
		held = append(held, text)
	}
	for i := range r.HeldBack {
		if h := &r.HeldBack[i]; h.Longest > s.Config.Nodes.NodeMonitorPeriod {
			held = append(held, heldBack(h))
		}
	}
	if len(all) > 0 || len(held) > 0 {
		fmt.Fprintln(w, "\nWhat slowed evictions down")
	}
	for _, text := range held[:min(len(held), mostLimits)] {
		fmt.Fprintf(w, "  %s\n", text)
	}
	for i := range all[:min(len(all), mostLimits)] {
		fmt.Fprintf(w, "  %s\n", limitText(zoneName(all[i].zone), &all[i].Limit, s))
	}
	if more := max(0, len(held)-mostLimits) + max(0, len(all)-mostLimits); more > 0 {
		fmt.Fprintf(w, "  … and %s more\n", count(more))
	}
}

// heldBack returns what held evictions back that were due, as a sentence.
func heldBack(h *simulation.HeldBack) string {
	when := fmt.Sprintf("from %s on, for up to %s", short(h.From), short(h.Longest))
	if h.AtEnd > 0 {
		when += fmt.Sprintf(", %s of them until the end", count(h.AtEnd))
	}
	pods := some(h.Pods, "pod")
	switch bound, budget := strings.CutPrefix(h.Reason, "Budget: "); {
	case budget:
		return fmt.Sprintf("the budget let %s wait that had to leave, because its bound %s was exceeded; %s", pods, bound, when)
	case h.Reason == "Held":
		return fmt.Sprintf("%s waited that had to leave, because the node of another pod of their group was spared; %s", pods, when)
	}
	return fmt.Sprintf("%s waited that had to leave (%s); %s", pods, h.Reason, when)
}

// limitText returns a limit as a sentence.
func limitText(zone string, l *simulation.Limit, s *simulation.Scenario) string {
	because := fmt.Sprintf("because %s of its nodes were not Ready (%s %% or more)", percent(l.NotReady, l.Ready+l.NotReady), number(100*s.Config.Nodes.UnhealthyZoneThreshold))
	when := fmt.Sprintf("from %s on, up to %s waited, %s in all", short(l.From), some(l.Most, "node"), short(l.Waited))
	bound, budget := strings.CutPrefix(l.Refused, "Budget")
	switch {
	case l.Held != "":
		return fmt.Sprintf("nodes of %s were spared, because they announced %s; %s", zone, l.Held, when)
	case budget:
		return fmt.Sprintf("the budget refused to have nodes of %s tainted%s; %s", zone, strings.Replace(bound, ": ", " by its bound ", 1), when)
	case l.Refused != "":
		return fmt.Sprintf("nodes of %s were not to be tainted (%s); %s", zone, l.Refused, when)
	case l.State == timeline.AllZonesDisrupted:
		return fmt.Sprintf("%s was stopped because every zone was down; %s", zone, when)
	case l.Rate == 0 && l.State == "PartialDisruption":
		return fmt.Sprintf("%s was stopped %s; %s", zone, because, when)
	case l.Rate == 0:
		return fmt.Sprintf("%s was stopped by a rate of 0; %s", zone, when)
	case l.State == "PartialDisruption":
		return fmt.Sprintf("%s was slowed to %s %s; %s", zone, pace(l.Rate), because, when)
	default:
		return fmt.Sprintf("%s was limited to %s; %s", zone, pace(l.Rate), when)
	}
}
