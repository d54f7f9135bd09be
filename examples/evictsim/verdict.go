package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
)

// verdictZones and verdictPods are how many zones and pods a verdict names.
const (
	verdictZones = 3
	verdictPods  = 3
)

// played says what was played: how large a cluster, for how long, from which file, with which changes, by which engine.
func played(o *outcome.Outcome) string {
	r := o.Report
	text := some(r.Nodes, "node")
	if len(r.Zones) > 1 {
		text += " in " + some(len(r.Zones), "zone")
	}
	text += fmt.Sprintf(" with %s, over %s. Scenario: %s", some(r.Pods, "pod"), short(r.Until), o.Scenario)
	for _, s := range o.Set {
		text += ", " + s.Name + "=" + s.Value
	}
	return text + ". Engine: " + o.Engine + "."
}

// finding is a headline and the sentences that say more.
type finding struct {
	headline string // one sentence of at most 30 words and three figures
	more     []string
}

// verdict says which nodes were lost, what became of the pods, and whether that was expected. It follows from the figures alone.
// The screen and the page both begin with it.
func verdict(o *outcome.Outcome) finding {
	r := o.Report
	var more []string
	for i, breach := range o.Breaches[:min(len(o.Breaches), 1)] {
		text := "Not as expected: " + breach
		if n := len(o.Breaches) - 1 - i; n > 0 {
			text += " (and " + count(n) + " more)"
		}
		more = append(more, text+".")
	}
	if quiet(r) {
		return finding{headlineOf(o, "All nodes were live all the time, and no pod was evicted"), more}
	}
	more = append(more, cmp.Or(notLive(r), "No node was lost")+": "+evictedPods(r)+".")
	more = append(append(more, lostForGood(r), withoutEndpoints(r), stuckPods(r)), drains(r)...)
	more = append(more, refused(r), failed(r), belowHalf(o))
	return finding{headlineOf(o, losses(r)), slices.DeleteFunc(more, func(s string) bool { return s == "" })}
}

// headlineOf returns a sentence, and says first if the result is not as expected.
func headlineOf(o *outcome.Outcome, text string) string {
	if len(o.Breaches) > 0 {
		text = "Not as expected: " + strings.Replace(strings.ToLower(text[:1])+text[1:], ": ", ", ", 1)
	}
	return text + "."
}

// losses says in one sentence which nodes were lost, what became of the pods, and what is unfinished.
func losses(r *simulation.Report) string {
	are := func(n int, how string) string { return some(n, "pod") + english.PluralWord(n, " is ", " are ") + how }
	were := func(n int, how string) string { return some(n, "pod") + english.PluralWord(n, " was ", " were ") + how }
	var parts []string
	switch died := r.DiedWithNodes; {
	case r.Evicted > 0 && died > 0:
		parts = append(parts, were(r.Evicted, "evicted"), count(died)+" died with their nodes")
	case r.Evicted > 0:
		parts = append(parts, were(r.Evicted, "evicted"))
	case died > 0:
		parts = append(parts, some(died, "pod")+" died with "+english.PluralWord(died, "its node", "their nodes"))
	case r.Drained > 0:
		parts = append(parts, were(r.Drained, "drained"))
	default:
		parts = append(parts, "no pod was evicted")
	}
	stuck := r.DrainsUnfinished + r.DrainsGivenUp + r.DrainsFailed
	for _, unfinished := range []struct {
		n    int
		text string
	}{
		{r.NotEvicted, are(r.NotEvicted, "still on dead nodes at the end")}, {r.PendingAtEnd, are(r.PendingAtEnd, "Pending at the end")},
		{r.LostForGood, are(r.LostForGood, "lost for good")}, {r.HeldByOrder, are(r.HeldByOrder, "not created at the end")},
		{r.TerminatingAtEnd, are(r.TerminatingAtEnd, "stuck terminating at the end")}, {stuck, some(stuck, "drain") + " did not finish"},
		{r.RollsUnfinished, some(r.RollsUnfinished, "roll") + " did not finish"}, {len(r.FailedJobs), some(len(r.FailedJobs), "Job") + " failed for good"},
	} {
		if unfinished.n > 0 {
			parts = append(parts, unfinished.text)
			break
		}
	}
	return lostBriefly(r, len(parts) < 3) + ": " + english.WordSeries(parts, "and")
}

// lostBriefly says which zones lost nodes, with at most one figure.
func lostBriefly(r *simulation.Report, figure bool) string {
	zones := slices.DeleteFunc(slices.Clone(r.Zones), func(z simulation.ZoneReport) bool { return z.Below == 0 })
	all := !slices.ContainsFunc(zones, func(z simulation.ZoneReport) bool { return z.MostLost < z.Of })
	whose := "all of their nodes"
	if !all {
		whose = "nodes"
	}
	switch {
	case len(zones) == 0 && r.UnknownNodes > 0:
		return "No node was lost, but nodes were declared not Ready by mistake"
	case len(zones) == 0:
		return cmp.Or(notLive(r), "No node was lost")
	case len(zones) > 1 && figure:
		return some(len(zones), "zone") + " lost " + whose
	case len(zones) > 1:
		return "Zones lost " + whose
	case !figure && all:
		return "Zone " + zoneName(zones[0].Name) + " lost all of its nodes"
	case all:
		return fmt.Sprintf("Zone %s lost all of its %s", zoneName(zones[0].Name), some(zones[0].Of, "node"))
	case figure:
		return fmt.Sprintf("Zone %s lost %s", zoneName(zones[0].Name), some(zones[0].MostLost, "node"))
	}
	return "Zone " + zoneName(zones[0].Name) + " lost nodes"
}

// capital makes the first letter of a sentence a capital one.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// lostNodes says which zones had fewer live nodes than they should, the worst first.
func lostNodes(r *simulation.Report) string {
	zones := slices.DeleteFunc(slices.Clone(r.Zones), func(z simulation.ZoneReport) bool { return z.Below == 0 })
	if len(zones) == 0 {
		return ""
	}
	slices.SortStableFunc(zones, func(a, b simulation.ZoneReport) int {
		return cmp.Or(cmp.Compare(b.BelowHalf, a.BelowHalf), cmp.Compare(b.Below, a.Below))
	})
	var whole, durations, parts []string
	all := "" // about the zones of whole
	half := func(z *simulation.ZoneReport) string {
		if z.BelowHalf == 0 {
			return ""
		}
		return " (below half for " + short(z.BelowHalf) + ")"
	}
	for i := range zones[:min(len(zones), verdictZones)] {
		z := &zones[i]
		if z.MostLost == z.Of {
			whole, durations = append(whole, zoneName(z.Name)), append(durations, short(z.BelowHalf))
			all = fmt.Sprintf("zone %s lost all of its %s%s", whole[0], some(z.Of, "node"), half(z))
		} else {
			parts = append(parts, fmt.Sprintf("zone %s lost %s of %s%s", zoneName(z.Name), count(z.MostLost), some(z.Of, "node"), half(z)))
		}
	}
	if len(whole) > 1 {
		all = fmt.Sprintf("zones %s lost all of their nodes (below half for %s)", english.WordSeries(whole, "and"), english.WordSeries(durations, "and"))
	}
	if all != "" {
		parts = slices.Insert(parts, 0, all)
	}
	if more := len(zones) - verdictZones; more > 0 {
		parts = append(parts, some(more, "more zone")+" lost nodes")
	}
	return capital(english.WordSeries(parts, "and"))
}

// evictedPods says how many pods were evicted, how late, how many of them needlessly, and how many should have been.
func evictedPods(r *simulation.Report) string {
	text := "no pod was evicted"
	if r.Evicted > 0 {
		text = some(r.Evicted, "pod") + " " + english.PluralWord(r.Evicted, "was", "were") + " evicted"
		if r.ReturnedPods == 0 && r.Evicted <= r.Pods { // otherwise replacements are among them, or pods that came later
			text = fmt.Sprintf("%s of %s %s evicted", count(r.Evicted), some(r.Pods, "pod"), english.PluralWord(r.Evicted, "was", "were"))
		}
		if late := r.Delayed - (r.Evicted - r.EvictedFromLiveNodes); r.EvictionDelayWorst > 0 && late <= 0 {
			text += ", the slowest " + short(r.EvictionDelayWorst) + " after its node fell silent"
		}
	}
	if r.NeedlessEvictions > 0 {
		share := count(r.NeedlessEvictions) + " of them "
		if r.NeedlessEvictions == r.Evicted {
			share = english.PluralWord(r.Evicted, "", "all of them ")
		}
		text += fmt.Sprintf(", %sneedlessly, because %s silent for no longer than %s", share, english.PluralWord(r.NeedlessEvictions, "its node was", "their nodes were"), short(simulation.NeedlessWithin))
	}
	if r.DiedWithNodes > 0 {
		text += fmt.Sprintf(", and %s died with nodes that were deleted", some(r.DiedWithNodes, "pod"))
	}
	if r.LostEvictions > 0 {
		text += fmt.Sprintf("; %s %s overdue and never happened", some(r.LostEvictions, "eviction"), english.PluralWord(r.LostEvictions, "was", "were"))
	}
	return text
}

// belowHalf says what workloads and budgets lacked. It is empty if the cluster has neither.
func belowHalf(o *outcome.Outcome) string {
	longest := func(figure string) string { return short(time.Duration(o.Figures[figure] * float64(time.Second))) }
	text := ""
	switch n := int(o.Figures["workloadsBelowHalf"]); {
	case n > 0:
		text = fmt.Sprintf("%s had fewer than half of %s pods live for up to %s.", some(n, "workload"), english.PluralWord(n, "its", "their"), longest("longestBelowHalfSeconds"))
	case len(o.Report.Workloads) > 0:
		text = "No workload had fewer than half of its pods live."
	}
	if n := int(o.Figures["budgetsBroken"]); n > 0 {
		text += fmt.Sprintf(" %s %s not kept for up to %s.", some(n, "disruption budget"), english.PluralWord(n, "was", "were"), longest("longestBelowBudgetSeconds"))
	}
	return strings.TrimSpace(text)
}

// bestOf says which of several runs evicted the fewest pods and which lost the fewest pod-hours. It names a run by its values
// of names.
func bestOf(outcomes []*outcome.Outcome, names []string) string {
	// best names the run with the least of a figure, unless it is the same in all.
	left := 0.0 // by the last of these on dead nodes
	best := func(figure string) (who string, least float64) {
		order := func(a, b *outcome.Outcome) int { return cmp.Compare(a.Figures[figure], b.Figures[figure]) }
		first := slices.MinFunc(outcomes, order)
		if least = first.Figures[figure]; least < slices.MaxFunc(outcomes, order).Figures[figure] {
			who, left = label(first, names), first.Figures["notEvicted"]
		}
		return who, least
	}
	evicting, evicted := best("evicted")
	stay := ""
	if left > 0 {
		stay = ", with " + some(int(left), "pod") + " still on dead nodes"
	}
	losing, lost := best("podHoursLost")
	clauses := []string{fmt.Sprintf("each evicted %s", some(int(evicted), "pod")), fmt.Sprintf("each lost %s pod-hours", precise(lost))}
	if evicting != "" {
		clauses[0] = fmt.Sprintf("%s evicted the fewest pods (%s%s)", evicting, count(int(evicted)), stay)
	}
	if losing != "" {
		clauses[1] = fmt.Sprintf("%s lost the fewest pod-hours (%s)", losing, precise(lost))
	}
	text := fmt.Sprintf("Of %s, %s, and %s.", some(len(outcomes), "run"), clauses[0], clauses[1])
	unexpected := 0
	for _, o := range outcomes {
		unexpected += min(len(o.Breaches), 1)
	}
	if unexpected > 0 {
		text += fmt.Sprintf(" %s %s not as expected.", some(unexpected, "run"), english.PluralWord(unexpected, "is", "are"))
	}
	return text
}

// label names a run by its values of names.
func label(o *outcome.Outcome, names []string) string {
	var parts []string
	for _, name := range names {
		parts = append(parts, setting(name, names)+" "+o.Value(name))
	}
	return strings.Join(parts, ", ")
}

// setting is the short name of a setting, if no other one has it.
func setting(path string, all []string) string {
	last := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	if slices.ContainsFunc(all, func(other string) bool { return other != path && last(other) == last(path) }) {
		return path
	}
	return last(path)
}
