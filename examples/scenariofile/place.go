package scenariofile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// Locate returns the faults that a simulation found in a scenario as one error, each with the file's name and the line of its
// field, and with the name that may be meant: outage.yaml:7: event 3 (at 2m0s): fail: …. Name, data and sets are those that
// Complete got; for a value of sets, the change takes the place of the line. Any other error is returned as it is.
func Locate(name string, data []byte, err error, sets ...Set) error {
	faults := simulation.Faults(err)
	if faults == nil {
		return err
	}
	_, root, wrong := parse(name, data, sets)
	if wrong != nil {
		return err // impossible: it has been played
	}
	errs := make([]error, len(faults))
	for i, f := range faults {
		if errs[i] = f; f.Path != nil {
			errs[i] = fmt.Errorf("%s: %w", at(name, lineOf(root, inFile(f.Path)), sets), f)
		}
		if f.Known != nil {
			errs[i] = fmt.Errorf("%w%s", errs[i], Hint(f.Unknown, f.Known))
		}
	}
	return errors.Join(errs...)
}

// at names a file and the line, or the change that has made it; line 0 is unknown.
func at(name string, line int, sets []Set) string {
	switch {
	case line == 0:
		return name
	case line < 0:
		return name + ": " + sets[len(sets)+line].place()
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// inFile returns the path of a field of a simulation.Scenario in a file.
func inFile(path []string) []string {
	before := map[string][]string{
		"zones": {"cluster", "zones"}, "defaultTolerationSeconds": {"cluster", "defaultTolerationSeconds"}, "traces": {"availability"},
		"leaseInterval": {"heartbeat", "interval"}, "statusInterval": {"heartbeat", "statusInterval"},
		"notReadyFor": {"heartbeat", "notReadyFor"}, "replaceAfter": {"reschedule", "after"}, "readyAfter": {"reschedule", "ready"},
		"kubeAPIQPS": {"config", "kubeAPIQPS"}, "kubeAPIBurst": {"config", "kubeAPIBurst"},
	}
	if steps, ok := before[path[0]]; ok {
		return append(slices.Clone(steps), path[1:]...)
	}
	return path
}

// lineOf returns the line of a field, or of the innermost part of the path that the document has. It is negative if that was set.
func lineOf(root *yaml.Node, path []string) int {
	line := root.Line
	for _, step := range path {
		on, next := entry(root, step)
		if next == nil {
			return line
		}
		root, line = next, on
	}
	return line
}

// entry returns a field or an item, and its line. It is nil if there is none.
func entry(of *yaml.Node, step string) (line int, value *yaml.Node) {
	if of.Kind == yaml.AliasNode {
		of = of.Alias
	}
	if of.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(step); err == nil && i >= 1 && i <= len(of.Content) {
			return of.Content[i-1].Line, of.Content[i-1]
		}
		return 0, nil
	}
	for i := 0; i+1 < len(of.Content); i += 2 {
		switch key, value := of.Content[i], of.Content[i+1]; {
		case key.Value != step:
		case value.Line < 0: // set
			return value.Line, value
		default:
			return key.Line, value
		}
	}
	return merged(of, step)
}

// merged returns a field that a merge key adds.
func merged(of *yaml.Node, step string) (line int, value *yaml.Node) {
	for i := 0; i+1 < len(of.Content); i += 2 {
		if of.Content[i].Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{of.Content[i+1]}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, mapping := range from {
			if line, value = entry(mapping, step); value != nil {
				return line, value
			}
		}
	}
	return 0, nil
}

// place names a field in texts, by the steps that lead to it: event 3: fail: percent.
func place(path []string) string {
	var names []string
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil && len(names) > 0 {
			last := &names[len(names)-1]
			*last = strings.TrimSuffix(*last, "s") + " " + step
			continue
		}
		names = append(names, step)
	}
	return strings.Join(names, ": ")
}

// fault is what is wrong with a field of a file.
type fault struct {
	line int // 0 if it is unknown, negative if the field was set
	err  error
}

// join returns all faults in the order of their lines, nil if there are none.
func join(name string, faults []fault, sets []Set) error {
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = fmt.Errorf("%s: %w", at(name, f.line, sets), f.err)
	}
	return errors.Join(errs...)
}
