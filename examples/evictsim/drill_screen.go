package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// tell prints a drill.
func (a *assessment) tell(w io.Writer) {
	fmt.Fprintf(w, "%s: %s and %s\n\n", strings.Join(a.Files, ", "), some(a.Nodes, "node"), some(a.Pods, "pod"))
	a.tellLosses(w)
	a.tellFalseAlarms(w)
	for i := range a.Worst {
		a.Worst[i].tell(w, i == 0)
	}
	fmt.Fprintf(w, "\nSettings that no other of the %d played beats\n", a.Searched)
	table := columns{titles: []string{">RATE", ">THRESHOLD", ">GRACE", ">TOLERATION", ">POD-HOURS LOST", ">NEEDLESS", ""}}
	row := func(s *scoreTold, note string) {
		grace, _ := time.ParseDuration(s.NodeMonitorGracePeriod) // it was formatted by us
		table.add(number(s.NodeEvictionRate)+"/s", number(s.UnhealthyZoneThreshold), short(grace), short(time.Duration(s.TolerationSeconds)*time.Second),
			precise(s.PodHoursLost), evictions(s.NeedlessEvictions), note)
	}
	row(&a.Today, "today")
	for i := range a.Front {
		// Of many, show some at equal distances.
		if k := i * mostFront / len(a.Front); len(a.Front) > mostFront && i > 0 && (i-1)*mostFront/len(a.Front) == k && i < len(a.Front)-1 {
			continue
		}
		note := ""
		if a.Front[i] == a.Best {
			note = "best"
		}
		row(&a.Front[i], note)
	}
	table.write(w, "  ")
	fmt.Fprintf(w, "\n%s\n", a.Advice)
	if len(a.NotSimulated) > 0 {
		var parts []string
		for _, what := range byCount(a.NotSimulated) {
			parts = append(parts, fmt.Sprintf("%s of %s", what, some(a.NotSimulated[what], "pod")))
		}
		fmt.Fprintf(w, "not simulated: %s\n", strings.Join(parts, "; "))
	}
}

func (a *assessment) tellLosses(w io.Writer) {
	table := columns{titles: []string{"LOST", ">NODES", ">EVICTED", ">LAST", ">POD-HOURS LOST", ">BELOW HALF", ">BUDGETS", ">PENDING", ">STUCK"}}
	for i := range a.Losses {
		l := &a.Losses[i]
		if l.FalseAlarm {
			continue
		}
		figure := func(name string) string { return count(int(l.Figures[name])) }
		last := "-"
		if l.Figures["evicted"] > 0 {
			last = short(time.Duration(l.Figures["lastEvictionSeconds"]*float64(time.Second)) - tenMinutes)
		}
		table.add(l.Name, count(l.Nodes), figure("evicted"), last, precise(l.Figures["podHoursLost"]), figure("workloadsBelowHalf"),
			figure("budgetsBroken"), figure("mostPending"), count(l.Stuck))
	}
	table.write(w, "")
}

// tenMinutes is when the loss of a drill begins; printed times count from there.
const tenMinutes = 10 * time.Minute

func (a *assessment) tellFalseAlarms(w io.Writer) {
	table := columns{titles: []string{"FALSE ALARM", ">NODES", ">FOR", ">EVICTED NEEDLESSLY"}}
	for i := range a.Losses {
		if l := &a.Losses[i]; l.FalseAlarm && l.Figures["evicted"] > 0 {
			table.add(l.Name, count(l.Nodes), short(time.Duration(l.ForSeconds*float64(time.Second))), count(int(l.Figures["evicted"])))
		}
	}
	if len(table.rows) == 0 {
		fmt.Fprintln(w, "\nNo false alarm of up to half an hour evicts a pod")
		return
	}
	fmt.Fprintln(w)
	table.write(w, "")
}

func (l *worstTold) tell(w io.Writer, first bool) {
	title := "Then"
	if first {
		title = "Hurts most"
	}
	fmt.Fprintf(w, "\n%s: %s\n", title, l.Name)
	for i := range l.Workloads {
		h := &l.Workloads[i]
		state := fmt.Sprintf("%s of %s live, below that for %s", count(int(h.Figures["lowestReady"])), count(int(h.Figures["desired"])), seconds(h.Figures["belowSeconds"]))
		if half := h.Figures["belowHalfSeconds"]; half > 0 {
			state = fmt.Sprintf("%s of %s live, below half for %s", count(int(h.Figures["lowestReady"])), count(int(h.Figures["desired"])), seconds(half))
		}
		if budget := h.Figures["belowBudgetSeconds"]; budget > 0 {
			state += ", below its budget for " + seconds(budget)
		}
		fmt.Fprintf(w, "  %s: %s\n    %s\n    -> %s\n", h.Name, state, h.Because, h.Remedy)
	}
	if l.More > 0 {
		fmt.Fprintf(w, "  … and %s\n", some(l.More, "more workload"))
	}
	if l.WithTaint != nil {
		fmt.Fprintf(w, "  If its nodes are tainted out of service after 5m, this loss costs %s.\n", podHours(*l.WithTaint))
	}
}

func seconds(s float64) string { return short(time.Duration(s * float64(time.Second))) }
