package scenariofile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Expectation sets bounds for a figure of the result: of the cluster, or of one zone, workload or budget. AtLeast and
// AtMost are both inclusive.
type Expectation struct {
	Figure   string  `yaml:"figure"`
	Zone     string  `yaml:"zone"`     // as in events: the zone's name, or region:zone
	Workload string  `yaml:"workload"` // namespace/kind/name
	Budget   string  `yaml:"budget"`   // namespace/name
	AtLeast  *Amount `yaml:"atLeast"`
	AtMost   *Amount `yaml:"atMost"`
}

// of returns the kind and the name of what the figure is about, both "" for the cluster.
func (e *Expectation) of() (kind, name string) {
	switch {
	case e.Zone != "":
		return "zone", e.Zone
	case e.Workload != "":
		return "workload", e.Workload
	case e.Budget != "":
		return "budget", e.Budget
	}
	return "", ""
}

// Amount is a number in the figure's own unit, or a time. Its text is 12, 0.5 or 1h30m, for example.
type Amount struct {
	Number float64
	Time   time.Duration // only for figures that are times; 0 means that Number counts
}

// UnmarshalText reads a finite number or a duration.
func (a *Amount) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		*a = Amount{Number: n}
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a number nor a duration", text)
	}
	*a = Amount{Time: d}
	return nil
}

// MarshalText returns the number or the duration.
func (a Amount) MarshalText() ([]byte, error) {
	if a.Time != 0 {
		return []byte(a.Time.String()), nil
	}
	return strconv.AppendFloat(nil, a.Number, 'f', -1, 64), nil
}

// of returns the amount in the unit of the figure, 0 if there is none, or false if it is a time and the figure is not.
func (a *Amount) of(figure string) (value float64, ok bool) {
	switch {
	case a == nil:
		return 0, true
	case a.Time == 0:
		return a.Number, true
	case strings.HasPrefix(figure, "podHours"):
		return a.Time.Hours(), true
	}
	return a.Time.Seconds(), strings.HasSuffix(figure, "Seconds")
}

// check reports all faults of an expectation by itself.
func (e *Expectation) check(report func(err error, path ...string)) {
	given := 0
	for _, name := range []string{e.Zone, e.Workload, e.Budget} {
		if name != "" {
			given++
		}
	}
	switch {
	case given > 1:
		report(errors.New("more than one of zone, workload and budget are set"))
	case e.Figure == "":
		report(errors.New("figure is missing"))
	default:
		if names := e.names(); !slices.Contains(names, e.Figure) {
			report(e.unknown(names), "figure")
		}
	}
	sound := true
	for _, bound := range []struct {
		name string
		is   *Amount
	}{{"atLeast", e.AtLeast}, {"atMost", e.AtMost}} {
		if _, ok := bound.is.of(e.Figure); !ok && e.Figure != "" {
			report(fmt.Errorf("%s is not a time: write a number without a unit", e.Figure), bound.name)
			sound = false
		}
	}
	switch least, most := e.bounds(); {
	case e.AtLeast == nil && e.AtMost == nil:
		report(errors.New("neither atLeast nor atMost is set"))
	case sound && least > most:
		report(errors.New("atLeast is more than atMost"))
	}
}

// unknown says which figures there are: those whose names are near, or all.
func (e *Expectation) unknown(names []string) error {
	whose := "the cluster"
	if kind, _ := e.of(); kind != "" {
		whose = "a " + kind
	}
	hint := cmp.Or(Hint(e.Figure, slices.Values(names)), ": "+strings.Join(names, ", "))
	return fmt.Errorf("%q is not one of those of %s%s", e.Figure, whose, hint)
}

// bounds returns both bounds in the unit of the figure; one that is not set is infinite.
func (e *Expectation) bounds() (least, most float64) {
	least, most = math.Inf(-1), math.Inf(1)
	if e.AtLeast != nil {
		least, _ = e.AtLeast.of(e.Figure)
	}
	if e.AtMost != nil {
		most, _ = e.AtMost.of(e.Figure)
	}
	return least, most
}

// names returns the figures that the expectation may name.
func (e *Expectation) names() (names []string) {
	figures := simulation.Figures(new(simulation.Report))
	switch {
	case e.Zone != "":
		figures = simulation.Figures(new(simulation.ZoneReport))
	case e.Workload != "":
		figures = simulation.Figures(new(simulation.WorkloadReport))
	case e.Budget != "":
		figures = simulation.Figures(new(simulation.BudgetReport))
	}
	for _, f := range figures {
		names = append(names, f.Name)
	}
	return names
}

// Check says in words what became of an expectation, and whether it holds.
type Check struct {
	Text  string
	Holds bool
}

// Checks returns one check or more for each expectation: a figure that does not exist is one that does not hold.
func Checks(r *simulation.Report, expected []Expectation) (checks []Check) {
	for i := range expected {
		e := &expected[i]
		figures, err := e.figures(r)
		if err != nil {
			checks = append(checks, Check{Text: fmt.Sprintf("expect %d: %s", i+1, err)})
		}
		for _, f := range figures {
			if f.Name == e.Figure {
				text, holds := e.checked(f)
				checks = append(checks, Check{fmt.Sprintf("expect %d: %s", i+1, text), holds})
			}
		}
	}
	return checks
}

// Breaches returns a text for each expectation that does not hold.
func Breaches(r *simulation.Report, expected []Expectation) (breaches []string) {
	for _, c := range Checks(r, expected) {
		if !c.Holds {
			breaches = append(breaches, c.Text)
		}
	}
	return breaches
}

// checked says how a figure keeps or violates its bounds.
func (e *Expectation) checked(f simulation.Figure) (text string, holds bool) {
	what := f.Name
	if kind, name := e.of(); kind != "" {
		what += " of " + kind + " " + name
	}
	if f.Never {
		return what + " is the time of what never happened", false
	}
	what += " is " + rounded(f.Value)
	least, most := e.bounds()
	switch {
	case f.Value < least:
		return what + ", less than " + rounded(least), false
	case f.Value > most:
		return what + ", more than " + rounded(most), false
	}
	if e.AtLeast != nil {
		what += ", at least " + rounded(least)
	}
	if e.AtMost != nil {
		what += ", at most " + rounded(most)
	}
	return what, true
}

func (e *Expectation) figures(r *simulation.Report) ([]simulation.Figure, error) {
	kind, name := e.of()
	all := make(map[string][]simulation.Figure)
	switch kind {
	case "":
		return simulation.Figures(r), nil
	case "zone":
		z, err := r.Zone(name)
		if err != nil {
			return nil, err
		}
		return simulation.Figures(z), nil
	case "workload":
		for i := range r.Workloads {
			all[r.Workloads[i].String()] = simulation.Figures(&r.Workloads[i])
		}
	case "budget":
		for i := range r.Budgets {
			all[r.Budgets[i].String()] = simulation.Figures(&r.Budgets[i])
		}
	}
	if figures, ok := all[name]; ok {
		return figures, nil
	}
	hint := Hint(name, maps.Keys(all))
	for _, known := range slices.Sorted(maps.Keys(all)) {
		if hint == "" && path.Base(known) == path.Base(name) { // in another namespace, or of another kind
			hint = fmt.Sprintf(" (do you mean %s?)", known)
		}
	}
	return nil, fmt.Errorf("%s %s does not exist%s", kind, name, hint)
}

// Misnamed returns an error about the expectations that name a zone, workload or budget that a world does not have at its start,
// and that no event may add. Name, data and sets are those that Complete got.
func (s *Scenario) Misnamed(name string, data []byte, w *simulation.World, sets ...Set) error {
	_, root, err := parse(name, data, sets)
	if err != nil {
		return err
	}
	played := s.simulation()
	nodes, pods := false, false // may be added
	for _, e := range played.Plan() {
		nodes, pods = nodes || e.AddNode != nil, pods || e.AddNode != nil || e.AddPod != nil
	}
	var faults []fault
	subjects := w.Subjects()
	for i := range s.Expect {
		e := &s.Expect[i]
		if e.Zone != "" && nodes || pods && strings.HasPrefix(e.Workload, "default/") {
			continue
		}
		if _, err := e.figures(subjects); err != nil {
			of, _ := e.of()
			faults = append(faults, fault{lineOf(root, []string{"expect", strconv.Itoa(i + 1), of}), fmt.Errorf("expect %d: %w", i+1, err)})
		}
	}
	return join(name, faults, sets)
}

// Unlabelled returns an error about bounds of the budget that count per a label that no node of a world has at its start, if no event
// adds nodes: they would bound nothing. Name, data and sets are those that Complete got.
func (s *Scenario) Unlabelled(name string, data []byte, w *simulation.World, sets ...Set) error {
	played := s.simulation()
	if s.Budget == nil || slices.ContainsFunc(played.Plan(), func(e simulation.Planned) bool { return e.AddNode != nil }) {
		return nil
	}
	_, root, err := parse(name, data, sets)
	if err != nil {
		return err
	}
	labels := make(map[string]bool)
	w.Clients().Nodes.Nodes(func(node *v1.Node) bool {
		for label := range node.Labels {
			labels[label] = true
		}
		return true
	})
	var faults []fault
	for i, bound := range s.Budget.Bounds {
		if bound.Per != "" && !labels[bound.Per] {
			path := []string{"budget", "bounds", strconv.Itoa(i + 1), "per"}
			faults = append(faults, fault{lineOf(root, path), fmt.Errorf("%s: no node has the label %s%s", place(path), bound.Per, Hint(bound.Per, maps.Keys(labels)))})
		}
	}
	return join(name, faults, sets)
}

// rounded formats a number with enough digits to tell it from its bound.
func rounded(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
