package outcome

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Value returns one of the outcome's inputs by name: its engine, its scenario, what was set, or a setting.
func (o *Outcome) Value(name string) string {
	switch name {
	case "engine":
		return o.Engine
	case "scenario":
		return o.Scenario
	}
	for _, f := range slices.Backward(slices.Concat(o.Settings, o.Set)) { // the last change holds
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// names returns the names of all inputs of the outcomes.
func names(all []*Outcome) []string {
	names := []string{"scenario", "engine"}
	for _, fields := range []func(*Outcome) []Field{func(o *Outcome) []Field { return o.Set }, func(o *Outcome) []Field { return o.Settings }} {
		for _, o := range all {
			for _, f := range fields(o) {
				if !slices.Contains(names, f.Name) {
					names = append(names, f.Name)
				}
			}
		}
	}
	return names
}

// Differing returns the names of the inputs that are not the same in all outcomes: of a setting and the change that set
// it, only the change. If nothing differs, it returns the scenario.
func Differing(all []*Outcome) (differing []string) {
	for _, name := range names(all) {
		told := slices.ContainsFunc(differing, func(set string) bool { return strings.HasSuffix(set, "."+name) || strings.HasPrefix(set, name+".") })
		if !told && slices.ContainsFunc(all, func(o *Outcome) bool { return o.Value(name) != all[0].Value(name) }) {
			differing = append(differing, name)
		}
	}
	if len(differing) == 0 {
		differing = []string{"scenario"}
	}
	return differing
}

// WriteTable writes a row for each outcome, with a column for each setting and for each figure of the cluster.
func WriteTable(w io.Writer, all []*Outcome) error {
	out := csv.NewWriter(w)
	fields := names(all)
	var figures []string
	for _, figure := range simulation.Figures(new(simulation.Report)) {
		figures = append(figures, figure.Name)
	}
	_ = out.Write(slices.Concat([]string{"version"}, fields, figures, []string{"breaches"})) // Error returns it
	for _, o := range all {
		row := []string{strconv.Itoa(o.Version)}
		for _, name := range fields {
			row = append(row, o.Value(name))
		}
		for _, figure := range figures {
			row = append(row, strconv.FormatFloat(o.Figures[figure], 'f', -1, 64))
		}
		_ = out.Write(append(row, strconv.Itoa(len(o.Breaches))))
	}
	out.Flush()
	return out.Error()
}
