package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
)

// tellLimits prints what delayed the taints, the longest first.
func tellLimits(w io.Writer, r *simulator.Report) {
	type limit struct {
		zone string
		simulator.Limit
	}
	var all []limit
	for i := range r.ByZone {
		for _, l := range r.ByZone[i].Limits {
			if l.Waited <= r.Settings.NodeMonitorPeriod {
				continue // nodes only waited for the next pass
			}
			all = append(all, limit{r.ByZone[i].Name, l})
		}
	}
	slices.SortStableFunc(all, func(a, b limit) int { return cmp.Compare(b.Waited, a.Waited) })
	for i := range all[:min(len(all), mostLimits)] {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat slowed evictions down")
		}
		fmt.Fprintf(w, "  %s\n", limitText(zoneName(all[i].zone), &all[i].Limit, &r.Settings))
	}
	if more := len(all) - mostLimits; more > 0 {
		fmt.Fprintf(w, "  … and %s more\n", count(more))
	}
}

// limitText returns a limit as a sentence.
func limitText(zone string, l *simulator.Limit, s *scenario.Settings) string {
	share := fmt.Sprintf("%s ≥ %s %%", percent(l.NotReady, l.Ready+l.NotReady), number(100*s.UnhealthyZoneThreshold))
	when := fmt.Sprintf("from %s, up to %s waited over %s", short(l.From), some(l.Most, "node"), short(l.Waited))
	switch {
	case l.State == scenario.AllZonesDisrupted:
		return fmt.Sprintf("%s was stopped because every zone was down, %s", zone, when)
	case l.Rate == 0 && l.State == "PartialDisruption":
		return fmt.Sprintf("%s was stopped at %s, %s", zone, share, when)
	case l.Rate == 0:
		return fmt.Sprintf("%s was stopped by a rate of 0, %s", zone, when)
	case l.State == "PartialDisruption":
		return fmt.Sprintf("%s was slowed to %s at %s, %s", zone, pace(l.Rate), share, when)
	default:
		return fmt.Sprintf("%s was limited to %s, %s", zone, pace(l.Rate), when)
	}
}
