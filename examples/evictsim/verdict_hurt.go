package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// The sentences of a verdict about what is not an eviction by the evictor. Each is empty if there is nothing to say.

// notLive says which nodes were not live all the time, or how many counted as not Ready although they were.
func notLive(r *simulation.Report) string {
	if lost := lostNodes(r); lost != "" {
		return lost
	}
	waited := time.Duration(0)
	for i := range r.Zones {
		waited = max(waited, r.Zones[i].NodesWaited)
	}
	switch {
	case r.UnknownNodes > 0:
		return fmt.Sprintf("No node was lost, but %s not Ready by mistake", times(r.UnknownNodes, "a node was declared", "nodes were declared"))
	case r.Taints > 0 || waited > 0:
		return "No kubelet fell silent, but nodes were not Ready"
	case r.KubeletFailures > 0:
		return "Nodes fell silent for a moment"
	}
	return ""
}

// times counts how often something happened, in words.
func times(n int, once, often string) string {
	if n == 1 {
		return "once " + once
	}
	return count(n) + " times " + often
}

// withoutEndpoints says how many pods lost their endpoints, and for how long.
func withoutEndpoints(r *simulation.Report) string {
	if r.PodsWithoutEndpoints == 0 {
		return ""
	}
	text := fmt.Sprintf("%s lost %s endpoints for up to %s", some(r.PodsWithoutEndpoints, "pod"), english.PluralWord(r.PodsWithoutEndpoints, "its", "their"), short(r.LongestWithoutEndpoints))
	if r.PodsWithoutEndpoints > 1 {
		text += " (median " + short(r.MedianWithoutEndpoints) + ")"
	}
	switch running := r.RunningWithoutEndpoints; {
	case running == r.PodsWithoutEndpoints:
		text += " although " + english.PluralWord(running, "it", "they") + " ran"
	case running > 0:
		text += ", " + count(running) + " of them although they ran"
	}
	return text + "."
}

// stuckPods says how many pods were still stuck at the end.
func stuckPods(r *simulation.Report) string {
	var parts []string
	type stuck struct {
		pods int
		how  string
	}
	all := []stuck{{r.PendingAtEnd, "Pending"}, {r.HeldByOrder, "held until a lower ordinal is Ready"}, {r.TerminatingAtEnd, "stuck terminating"}}
	for _, reason := range simulation.Leaving() {
		all = append(all, stuck{r.Left[reason], reason})
	}
	for _, p := range all {
		if p.pods > 0 {
			be := english.PluralWord(p.pods, " is ", " are ")
			if strings.HasPrefix(p.how, "due") { // the others say where they are
				be += "on a silent node, "
			}
			parts = append(parts, some(p.pods, "pod")+be+p.how)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "At the end, " + english.WordSeries(parts, "and") + "."
}

// lostForGood says which pods nobody recreates.
func lostForGood(r *simulation.Report) string {
	if r.LostForGood == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s lost for good, because nothing recreates %s: %s.", some(r.LostForGood, "pod"), english.PluralWord(r.LostForGood, "is", "are"),
		english.PluralWord(r.LostForGood, "it", "them"), lostPods(r, verdictPods))
}

// lostPods names so many of these pods.
func lostPods(r *simulation.Report, most int) string {
	var names []string
	for _, key := range r.LostPods[:min(len(r.LostPods), most)] {
		names = append(names, key.String())
	}
	if more := r.LostForGood - len(names); more > 0 {
		names = append(names, count(more)+" more")
	}
	return english.WordSeries(names, "and")
}

// drains says how many pods drains moved, and which drains and rolls did not come to their end.
func drains(r *simulation.Report) (sentences []string) {
	if r.Drains == 0 {
		return nil
	}
	text := fmt.Sprintf("%s drained: %s had to leave", english.PluralWord(r.Drains, "1 node was", count(r.Drains)+" nodes were"), some(r.Drained, "pod"))
	if r.DrainedByForce > 0 {
		text += fmt.Sprintf(", %s of them by force", count(r.DrainedByForce))
	}
	sentences = append(sentences, text+".")
	for i := range r.StuckRolls[:min(len(r.StuckRolls), 1)] {
		sentences = append(sentences, sentence(r.StuckRolls[i].String(), len(r.StuckRolls)-1, "roll"))
	}
	var stuck, refused []*simulation.StuckDrain
	for i := range r.StuckDrains {
		if s := &r.StuckDrains[i]; s.Ended == simulation.DrainRefused {
			refused = append(refused, s)
		} else {
			stuck = append(stuck, s)
		}
	}
	for _, of := range [][]*simulation.StuckDrain{refused, stuck} {
		if len(of) > 0 {
			sentences = append(sentences, sentence(slices.MaxFunc(of, byEnd).String(), len(of)-1, "drain"))
		}
	}
	return sentences
}

// byEnd orders what became of drains: one that never ends is worst.
func byEnd(a, b *simulation.StuckDrain) int {
	rank := map[string]int{simulation.DrainForced: 1, simulation.DrainGivenUp: 2, simulation.DrainFailed: 2, simulation.DrainUnfinished: 3}
	return cmp.Or(rank[a.Ended]-rank[b.Ended], cmp.Compare(a.At-a.From, b.At-b.From))
}

func sentence(text string, more int, thing string) string {
	if more > 0 {
		text += fmt.Sprintf(" (and %s got stuck, too)", some(more, "more "+thing))
	}
	return capital(text) + "."
}

// failed says how many Jobs failed.
func failed(r *simulation.Report) string {
	if len(r.FailedJobs) == 0 {
		return ""
	}
	return some(len(r.FailedJobs), "Job") + " failed for good."
}

// refused says what disruption budgets held back.
func refused(r *simulation.Report) string {
	if r.EvictionsRefused == 0 {
		return ""
	}
	text := fmt.Sprintf("Disruption budgets refused to let %s go, for up to %s", some(r.EvictionsRefused, "pod"), short(r.LongestRefused))
	switch {
	case r.RefusedAtEnd == r.EvictionsRefused:
		text += ", until the end"
	case r.RefusedAtEnd > 0:
		text += ", " + count(r.RefusedAtEnd) + " of them until the end"
	}
	return text + "."
}

// quiet says that nothing at all happened to nodes and pods.
func quiet(r *simulation.Report) bool {
	return notLive(r) == "" && r.Evicted+r.DiedWithNodes+r.LostForGood+r.Drains+r.Drained+r.Removed+r.PodsWithoutEndpoints+r.MostPending+r.MostHeld+r.MostTerminating+r.EvictionsRefused+r.LostEvictions+len(r.FailedJobs) == 0 &&
		r.PodHoursLost == 0 && r.PodHoursMissing == 0
}
