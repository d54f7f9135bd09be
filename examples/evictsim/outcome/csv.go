package outcome

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
)

// WriteCSV writes the same as WriteJSON, with a row for each value. The column run numbers the outcomes from 1.
func WriteCSV(w io.Writer, all []*Outcome) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"version", "run", "engine", "scenario", "of", "name", "figure", "value"}) // Error returns it
	for i, o := range all {
		o.rows(func(of, name, figure, value string) {
			_ = out.Write([]string{strconv.Itoa(o.Version), strconv.Itoa(i + 1), o.Engine, o.Scenario, of, name, figure, value})
		})
	}
	out.Flush()
	return out.Error()
}

// rows calls row for each value of the outcome.
func (o *Outcome) rows(row func(of, name, figure, value string)) {
	for _, f := range o.Set {
		row("set", "", f.Name, f.Value)
	}
	for _, f := range o.Settings {
		row("setting", "", f.Name, f.Value)
	}
	row("ignored", "", "unboundPods", strconv.Itoa(o.Ignored.Unbound))
	counts(row, "ignored", "objects", o.Ignored.Kinds)
	counts(row, "ignored", "pods", o.Ignored.Pods)
	for _, number := range o.Ignored.Events {
		row("ignored", "", "eventAfterEnd", strconv.Itoa(number))
	}
	figures := func(of, name string, m map[string]float64) {
		for _, figure := range slices.Sorted(maps.Keys(m)) {
			row(of, name, figure, decimal(m[figure]))
		}
	}
	figures("cluster", "", o.Figures)
	for _, of := range []struct {
		name  string
		parts []Part
	}{{"zone", o.Zones}, {"workload", o.Workloads}, {"budget", o.Budgets}} {
		for _, p := range of.parts {
			figures(of.name, p.Name, p.Figures)
			for i := range p.Limits {
				p.Limits[i].rows(p.Name, i+1, row)
			}
		}
	}
	for _, change := range o.Changes {
		row("change", "", "", string(change))
	}
	counts(row, "cancelled", "evictions", o.Cancelled)
	counts(row, "left", "pods", o.Left)
	for i := range o.Unplaced {
		u := &o.Unplaced[i]
		row("unplaced", u.First, "pods", strconv.Itoa(u.Pods))
		row("unplaced", u.First, "text", u.Text)
	}
	o.waitingRows(row)
	o.Differences.rows(row)
	for _, b := range o.Breaches {
		row("breach", "", "", b)
	}
}

// rows calls row for what two engines do differently; nothing if only one has played.
func (d *Differences) rows(row func(of, name, figure, value string)) {
	if d == nil {
		return
	}
	for _, text := range d.Outage {
		row("difference", text, "outage", "true")
	}
	for _, r := range d.Rows {
		row("difference", r.Text, "lines", strconv.Itoa(r.Lines))
	}
	row("difference", d.First, "unexplained", strconv.Itoa(d.Unexplained))
	for i := range d.Apart {
		row("difference", d.Apart[i].Of, "firstSeconds", decimal(d.Apart[i].FirstSeconds))
	}
	if d.Unknown != "" {
		row("difference", "", "unknown", d.Unknown)
	}
}

// waitingRows calls row for what does not come back, or would elsewhere.
func (o *Outcome) waitingRows(row func(of, name, figure, value string)) {
	for _, j := range o.FailedJobs {
		row("failedJob", j.Name, "atSeconds", decimal(j.AtSeconds))
		row("failedJob", j.Name, "failedPods", strconv.Itoa(j.Failed))
		row("failedJob", j.Name, "deletedPods", strconv.Itoa(j.Deleted))
	}
	counts(row, "understated", "pods", o.Understated)
	for i := range o.StuckDrains {
		s := &o.StuckDrains[i]
		row("stuckDrain", s.Node, "ended", s.Ended)
		row("stuckDrain", s.Node, "pods", strconv.Itoa(s.Pods))
		row("stuckDrain", s.Node, "why", s.Why)
	}
	for _, s := range o.StuckRolls {
		row("stuckRoll", s.Node, "nodes", strconv.Itoa(s.Nodes))
		row("stuckRoll", s.Node, "replaced", strconv.Itoa(s.Replaced))
	}
}

// rows calls row for each field of the zone's limit with this number.
func (l *Limit) rows(zone string, number int, row func(of, name, figure, value string)) {
	for _, f := range []Field{
		{"state", l.State}, {"rate", decimal(l.Rate)}, {"held", l.Held}, {"refused", l.Refused}, {"fromSeconds", decimal(l.FromSeconds)}, {"ready", strconv.Itoa(l.Ready)},
		{"notReady", strconv.Itoa(l.NotReady)}, {"waitedSeconds", decimal(l.WaitedSeconds)}, {"mostWaiting", strconv.Itoa(l.MostWaiting)},
	} {
		row("limit", zone, strconv.Itoa(number)+"."+f.Name, f.Value)
	}
}

func counts(row func(of, name, figure, value string), of, figure string, m map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		row(of, name, figure, strconv.Itoa(m[name]))
	}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
