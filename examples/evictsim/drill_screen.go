package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/evictkit/evictkit/examples/evictsim/drill"
)

// tell prints a drill.
func (a *assessment) tell(w io.Writer) {
	fmt.Fprintln(w, a.title())
	for _, text := range []string{a.Headline, a.Helps} {
		for _, line := range brokenAt(text, 100) {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w)
	a.lossTable().write(w, "")
	for _, line := range brokenAt(a.starts(), 100) {
		fmt.Fprintln(w, line)
	}
	if alarms := a.alarmTable(); len(alarms.rows) == 0 {
		fmt.Fprintln(w, "\n"+noAlarm)
	} else {
		fmt.Fprintln(w)
		alarms.write(w, "")
	}
	for i := range a.Worst {
		a.Worst[i].tell(w, i == 0)
	}
	table, title, note := a.settingTable()
	fmt.Fprintf(w, "\n%s\n", title)
	table.write(w, "  ")
	for _, line := range brokenAt(note, 96) {
		fmt.Fprintln(w, "  "+line)
	}
	fmt.Fprintf(w, "\n%s\n\n%s\n", a.Advice, howToApply)
	for i := range a.Apply {
		to := &a.Apply[i]
		for _, flag := range to.Flags {
			fmt.Fprintln(w, "  "+flag)
		}
		for _, line := range brokenAt(to.Note, 94) {
			fmt.Fprintln(w, "    "+line)
		}
	}
	fmt.Fprintf(w, "\n%s\n  %s\n", howToPlay, a.Play)
	if text := a.notSimulated(); text != "" {
		fmt.Fprintln(w, text)
	}
}

// Titles that the screen and the page share.
const (
	noAlarm    = "No false alarm of up to half an hour evicts a pod"
	howToApply = "How to apply these settings in a cluster:"
	howToPlay  = "To play the worst loss with them:"
)

func (a *assessment) title() string {
	return fmt.Sprintf("%s: %s and %s", strings.Join(a.Files, ", "), some(a.Nodes, "node"), some(a.Pods, "pod"))
}

// starts says what the kubelets of lost nodes do once they are back, and who is left out.
func (a *assessment) starts() string {
	text := "The lost nodes are Ready at once when they are back."
	if a.NotReady > 0 {
		text = fmt.Sprintf("The lost nodes report Ready=False for %s when they are back (%s).", seconds(a.NotReady), notReady)
	}
	if a.Waiting > 0 {
		text += fmt.Sprintf(" %s without a node %s left out; the command below plays them, too.", some(a.Waiting, "pod"), english.PluralWord(a.Waiting, "is", "are"))
	}
	return text
}

func (a *assessment) notSimulated() string {
	var parts []string
	for _, what := range byCount(a.NotSimulated) {
		parts = append(parts, fmt.Sprintf("%s of %s", what, some(a.NotSimulated[what], "pod")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "not simulated: " + strings.Join(parts, "; ")
}

// brokenAt breaks a text into lines of at most so many characters, if its words allow it.
func brokenAt(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= width {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

func (a *assessment) lossTable() *columns {
	table := &columns{titles: []string{"LOST", ">NODES", ">EVICTED", ">LAST", ">POD-HOURS LOST", ">BELOW HALF", ">BUDGETS", ">PENDING", ">STUCK"}}
	for i := range a.Losses {
		l := &a.Losses[i]
		if l.FalseAlarm {
			continue
		}
		figure := func(name string) string { return count(int(l.Figures[name])) }
		last := "-"
		if l.Figures["evicted"] > 0 {
			last = short(time.Duration(l.Figures["lastEvictionSeconds"]*float64(time.Second)) - drill.Begins)
		}
		table.add(l.Name, count(l.Nodes), figure("evicted"), last, precise(l.Figures["podHoursLost"]), figure("workloadsBelowHalf"),
			figure("budgetsBroken"), figure("mostPending"), count(l.Stuck))
	}
	return table
}

// alarmTable has a row for each loss, and how many pods are evicted while they run if it is a false alarm of each length. It has no
// row if nothing is.
func (a *assessment) alarmTable() *columns {
	table := &columns{titles: []string{"EVICTED WHILE RUNNING, IN A FALSE ALARM OF", ">NODES"}}
	lengths, evicted, nodes, names := make(map[float64]bool), make(map[string]map[float64]float64), make(map[string]int), []string(nil)
	hasty := false
	for i := range a.Losses {
		l := &a.Losses[i]
		if !l.FalseAlarm {
			continue
		}
		if evicted[l.Name] == nil {
			evicted[l.Name], nodes[l.Name], names = make(map[float64]float64), l.Nodes, append(names, l.Name)
		}
		n := l.Figures["evictedWhileRunning"]
		lengths[l.ForSeconds], evicted[l.Name][l.ForSeconds], hasty = true, n, hasty || n > 0
	}
	if !hasty {
		return table
	}
	sorted := slices.Sorted(maps.Keys(lengths))
	for _, length := range sorted {
		table.titles = append(table.titles, ">"+strings.ToUpper(seconds(length)))
	}
	for _, name := range names {
		cells := []string{name, count(nodes[name])}
		for _, length := range sorted {
			cells = append(cells, count(int(evicted[name][length])))
		}
		table.add(cells...)
	}
	return table
}

// settingTable has today's settings, the best, and of those that none beats some at equal distances.
func (a *assessment) settingTable() (table *columns, title, note string) {
	table = &columns{titles: []string{">RATE", ">THRESHOLD", ">GRACE", ">TOLERATION", ">LOST", ">MISSING", ">PENDING", ">BEFORE EVICTION", ">WHILE RUNNING", ""}}
	rows, unbeaten := slices.Clone(a.Front), slices.Contains(a.Front, a.Today)
	for _, s := range []scoreTold{a.Today, a.Best} {
		if !slices.Contains(rows, s) {
			at, _ := slices.BinarySearchFunc(rows, s, func(row, s scoreTold) int { return cmp.Compare(row.PodHoursBeforeEviction, s.PodHoursBeforeEviction) })
			rows = slices.Insert(rows, at, s)
		}
	}
	shown := 0
	for i := range rows {
		s, note := &rows[i], ""
		switch {
		case *s == a.Today:
			note = "today"
		case *s == a.Best:
			note = "advised"
		case i > 0 && i < len(rows)-1 && len(rows) > mostFront && i*mostFront/len(rows) == (i-1)*mostFront/len(rows):
			continue
		}
		if slices.Contains(a.Front, *s) {
			shown++
		}
		grace, _ := time.ParseDuration(s.NodeMonitorGracePeriod) // it was formatted by us
		table.add(number(s.NodeEvictionRate)+"/s", number(s.UnhealthyZoneThreshold), short(grace), short(time.Duration(s.TolerationSeconds)*time.Second),
			cell(precise, a.Today.PodHoursLost, s.PodHoursLost), cell(precise, a.Today.PodHoursMissing, s.PodHoursMissing),
			cell(counted, float64(a.Today.MostPending), float64(s.MostPending)), precise(s.PodHoursBeforeEviction), evictions(s.EvictedWhileRunning), note)
	}
	losses := "loss"
	if a.SearchedOver > 1 {
		losses = count(a.SearchedOver) + " losses"
	}
	title = fmt.Sprintf("Settings: %d of the %d that none of the %d played beats", shown, len(a.Front), a.Searched)
	if !unbeaten {
		title += ", and today's"
	}
	if a.Best != a.Today && !slices.Contains(a.Front, a.Best) {
		title += ", and the advised"
	}
	return table, title, fmt.Sprintf("Pod-hours LOST and MISSING in the worst %s, and the most PENDING in one; BEFORE EVICTION is the part of LOST that settings decide. WHILE RUNNING "+
		"counts the pods that a false alarm of 1 to 30 minutes in each place evicts while they run, if every doubling of its length is equally likely.", losses)
}

func seconds(s float64) string { return short(time.Duration(s * float64(time.Second))) }
