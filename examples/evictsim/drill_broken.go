package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/drill"
	"github.com/evictkit/evictkit/examples/evictsim/outcome"
	"github.com/evictkit/evictkit/examples/evictsim/page"
)

// worstTold is one of the worst losses, what it breaks, and what helps.
type worstTold struct {
	Name string `json:"name"`
	drill.Effect
	Hasty  int         `json:"evictedWhileRunning"` // in a false alarm of 10m; 0 if no remedy makes evictions come earlier
	Groups []groupTold `json:"groups"`
	// Tainted is the effect of the out-of-service taint alone, after five minutes; nil if no pod is stuck and no Job fails.
	Tainted *drill.Effect `json:"withOutOfServiceTaint,omitempty"`
	// Together is the effect of the first remedy of each group that lowers podHoursLost; nil if these are fewer than two.
	Together *drill.Effect `json:"together,omitempty"`
}

// groupTold is what a loss breaks for one cause. Its remedies are ordered by podHoursLost.
type groupTold struct {
	Cause     string         `json:"cause"`
	Refused   string         `json:"refused,omitempty"` // what refused a pod at how many nodes, if that is why
	LostPods  int            `json:"lostPods"`          // of its workloads
	Workloads []hurtTold     `json:"workloads"`
	Remedies  []drill.Remedy `json:"remedies"`
	Template  []string       `json:"template,omitempty"`  // for which objects a change of the pod template holds
	Otherwise string         `json:"otherwise,omitempty"` // what else may help
}

type hurtTold struct {
	Name    string             `json:"name"`
	Figures map[string]float64 `json:"figures"`
}

func worstOf(b *drill.Broken) worstTold {
	w := worstTold{Name: b.Name, Effect: b.Effect, Hasty: b.Hasty, Tainted: b.Tainted, Groups: []groupTold{}, Together: b.Together}
	for _, g := range b.Groups {
		told := groupTold{Cause: g.Cause, Refused: g.Refused, LostPods: g.Lost, Workloads: []hurtTold{}, Remedies: g.Remedies, Template: g.Template, Otherwise: g.Otherwise}
		for _, workload := range g.Workloads {
			told.Workloads = append(told.Workloads, hurtTold{workload.String(), outcome.Values(simulation.Figures(workload))})
		}
		w.Groups = append(w.Groups, told)
	}
	return w
}

// headline says what the worst loss costs.
func (l *worstTold) headline() string {
	text := fmt.Sprintf("Losing %s costs most: %s lost and %s missing", l.Name, podHours(l.PodHoursLost), precise(l.PodHoursMissing))
	for _, f := range []struct {
		count       int
		thing, what string
	}{{l.MostPending, "pod", "Pending at the worst time"}, {l.BudgetsBroken, "budget", "broken"}, {l.FailedJobs, "Job", "failed"}, {l.LostForGood, "pod", "gone for good"}} {
		if f.count > 0 {
			text += ", " + some(f.count, f.thing) + " " + f.what
		}
	}
	return text + "."
}

// best says what lowers the pod-hours lost most.
func (l *worstTold) best() string {
	if len(l.Groups) == 0 || len(l.Groups[0].Remedies) == 0 || l.Groups[0].Remedies[0].PodHoursLost >= l.PodHoursLost {
		return "No remedy that the drill can play lowers the pod-hours lost."
	}
	g := &l.Groups[0]
	m := &g.Remedies[0]
	text := fmt.Sprintf("What lowers the pod-hours lost most is %s, for %s: %s.", m.Name, g.whom(), l.changes(&m.Effect))
	if m.Tainted && l.Tainted != nil {
		text += fmt.Sprintf(" The taint alone: %s.", l.changes(l.Tainted))
	}
	return text
}

func (g *groupTold) whom() string {
	switch len(g.Workloads) {
	case 0:
		return some(g.LostPods, "pod")
	case 1:
		return g.Workloads[0].Name
	}
	return some(len(g.Workloads), "workload")
}

// effectFigures are the figures of an effect that people compare, in this order.
var effectFigures = []struct {
	title, name string
	of          func(*drill.Effect) float64
	text        func(float64) string
	always      bool // whether it is shown if no remedy changes it
}{
	{"LOST", "lost", func(e *drill.Effect) float64 { return e.PodHoursLost }, precise, true},
	{"MISSING", "missing", func(e *drill.Effect) float64 { return e.PodHoursMissing }, precise, true},
	{"PENDING", "Pending", func(e *drill.Effect) float64 { return float64(e.MostPending) }, counted, true},
	{"BUDGETS", "budgets broken", func(e *drill.Effect) float64 { return float64(e.BudgetsBroken) }, counted, true},
	{"FAILED JOBS", "failed Jobs", func(e *drill.Effect) float64 { return float64(e.FailedJobs) }, counted, false},
	{"BELOW HALF", "workloads below half", func(e *drill.Effect) float64 { return float64(e.WorkloadsBelowHalf) }, counted, false},
	{"GONE FOR GOOD", "pods gone for good", func(e *drill.Effect) float64 { return float64(e.LostForGood) }, counted, false},
}

func counted(v float64) string { return count(int(v)) }

// changes says what differs from today in words.
func (l *worstTold) changes(e *drill.Effect) string {
	var parts []string
	for _, f := range effectFigures {
		today, with := f.of(&l.Effect), f.of(e)
		switch {
		case f.text(today) != f.text(with):
			parts = append(parts, fmt.Sprintf("%s %s instead of %s", f.name, cell(f.text, today, with), f.text(today)))
		case f.always && today > 0:
			parts = append(parts, f.name+" "+f.text(with)+" as today")
		}
	}
	return strings.Join(parts, ", ")
}

// cell is a figure with a remedy, and says if it is worse than today's.
func cell(format func(float64) string, today, with float64) string {
	text := format(with)
	if with > today && text != format(today) {
		text += " (worse)"
	}
	return text
}

// remedyTable compares a group's remedies with today, and those that need the out-of-service taint with the taint alone.
func (l *worstTold) remedyTable(g *groupTold) *columns {
	names, effects := []string{"today"}, []*drill.Effect{&l.Effect}
	if l.Tainted != nil && slices.ContainsFunc(g.Remedies, func(m drill.Remedy) bool { return m.Tainted }) {
		names, effects = append(names, "out-of-service taint alone"), append(effects, l.Tainted)
	}
	for i := range g.Remedies {
		names, effects = append(names, fmt.Sprintf("%d. %s", i+1, g.Remedies[i].Name)), append(effects, &g.Remedies[i].Effect)
	}
	table := &columns{titles: []string{"EACH BY ITSELF"}}
	for _, name := range names {
		table.add(name)
	}
	for _, f := range effectFigures {
		now := f.of(&l.Effect)
		if !f.always && !slices.ContainsFunc(effects, func(e *drill.Effect) bool { return f.of(e) != now }) {
			continue
		}
		table.titles = append(table.titles, ">"+f.title)
		for i, e := range effects {
			table.rows[i] = append(table.rows[i], cell(f.text, now, f.of(e)))
		}
	}
	return table
}

// caveats returns what must be known about a remedy.
func (l *worstTold) caveats(m *drill.Remedy) []string {
	all := slices.Clip(m.But)
	if m.Hasty > l.Hasty {
		all = append(all, fmt.Sprintf("A false alarm of %s then evicts %s instead of %s.", short(drill.HastyAlarm), some(m.Hasty, "running pod"), count(l.Hasty)))
	}
	return all
}

// hurts returns some of a group's workloads, and how many more there are.
func (g *groupTold) hurts() (some []string, more int) {
	for i := range g.Workloads[:min(len(g.Workloads), mostOfGroup)] {
		some = append(some, g.Workloads[i].Name+": "+g.Workloads[i].state())
	}
	return some, len(g.Workloads) - len(some)
}

// state says how many pods of the workload were missing, and for how long.
func (h *hurtTold) state() string {
	state := fmt.Sprintf("%s of %s live, ", count(int(h.Figures["lowestReady"])), count(int(h.Figures["desired"])))
	if half := h.Figures["belowHalfSeconds"]; half > 0 {
		state += "below half for " + seconds(half)
	} else {
		state += "below that for " + seconds(h.Figures["belowSeconds"])
	}
	if budget := h.Figures["belowBudgetSeconds"]; budget > 0 {
		state += ", below its budget for " + seconds(budget)
	}
	return state
}

// mostOfGroup is how many workloads of a group are shown.
const mostOfGroup = 3

// title names a group.
func (g *groupTold) title() string {
	if len(g.Workloads) == 0 {
		return fmt.Sprintf("%s on the lost nodes: %s", some(g.LostPods, "pod"), g.Cause)
	}
	return fmt.Sprintf("%s, %s on the lost nodes: %s", some(len(g.Workloads), "workload"), some(g.LostPods, "pod"), g.Cause)
}

func (l *worstTold) tell(w io.Writer, first bool) {
	title := "Then"
	if first {
		title = "Hurts most"
	}
	fmt.Fprintf(w, "\n%s: %s\n", title, l.Name)
	for i := range l.Groups {
		l.Groups[i].tell(w, l)
	}
	for i, line := range brokenAt(l.allTogether(), 96) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, "  "+line)
	}
}

func (g *groupTold) tell(w io.Writer, l *worstTold) {
	for i, line := range brokenAt(g.title(), 96) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, "  "+line)
	}
	workloads, more := g.hurts()
	for _, workload := range workloads {
		fmt.Fprintln(w, "    "+workload)
	}
	if more > 0 {
		fmt.Fprintf(w, "    … and %s\n", some(more, "more workload"))
	}
	if g.Refused != "" {
		fmt.Fprintln(w, "    "+g.Refused)
	}
	if len(g.Remedies) == 0 {
		fmt.Fprintln(w, "    "+noRemedy)
	} else {
		l.remedyTable(g).write(w, "    ")
	}
	for i := range g.Remedies {
		m := &g.Remedies[i]
		fmt.Fprintf(w, "    %d. %s\n", i+1, m.Name)
		for _, line := range m.How {
			fmt.Fprintln(w, "       "+line)
		}
		for _, note := range l.caveats(m) {
			for _, line := range brokenAt(note, 92) {
				fmt.Fprintln(w, "       "+line)
			}
		}
	}
	for _, text := range append(slices.Clip(g.Template), g.Otherwise) {
		for _, line := range brokenAt(text, 94) {
			fmt.Fprintln(w, "    "+line)
		}
	}
}

// noRemedy is said of a group for which nothing helped.
const noRemedy = "No remedy that the drill can play helps."

// allTogether prices the first remedies; empty if there are not several.
func (l *worstTold) allTogether() string {
	if l.Together == nil {
		return ""
	}
	return "With the first remedy of each group that lowers the pod-hours lost, all at once: " + l.changes(l.Together) + "."
}

// page is what the page shows of a loss.
func (l *worstTold) page() page.Worst {
	told := page.Worst{Title: l.Name, Together: l.allTogether()}
	for i := range l.Groups {
		g := &l.Groups[i]
		group := page.Group{Title: g.title(), Refused: g.Refused, Notes: append(slices.Clip(g.Template), g.Otherwise)}
		workloads, more := g.hurts()
		if group.Workloads = workloads; more > 0 {
			group.Workloads = append(group.Workloads, "… and "+some(more, "more workload"))
		}
		if len(g.Remedies) == 0 {
			group.NoRemedy = noRemedy
		}
		table := l.remedyTable(g)
		group.Effects = page.Table{Titles: table.titles, Rows: table.rows}
		for k := range g.Remedies {
			m := &g.Remedies[k]
			group.Remedies = append(group.Remedies, page.Remedy{Name: m.Name, How: strings.Join(m.How, "\n"), But: strings.Join(l.caveats(m), " ")})
		}
		told.Groups = append(told.Groups, group)
	}
	return told
}
