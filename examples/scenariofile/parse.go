package scenariofile

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/internal/scenario"
)

// Parse reads a scenario from the text of a file; name stands before errors. It opens no other file:
// paths stay as they are and traces nil.
func Parse(name string, data []byte) (*scenario.Scenario, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: the file is larger than %d MiB", name, MaxSize>>20)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the file is empty", name)
	case err != nil:
		return nil, syntaxError(name, err, data)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, syntaxError(name, err, data)
		}
		return nil, fmt.Errorf("%s: holds more than one document", name)
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: line %d: a scenario is a mapping", name, root.Line)
	}
	s := new(scenario.Scenario)
	w := walker{seen: make(map[visit]bool)}
	w.walk(root, reflect.TypeFor[scenario.Scenario]())
	if err := root.Decode(s); err != nil {
		w.decodeError(err)
	}
	if len(w.faults) > 0 {
		return nil, w.join(name)
	}
	return s, nil
}

// walker finds, in a document, what decoding cannot report with its line: unknown fields and text that
// does not decode. Such text it takes out of the document, so that decoding goes on to other faults.
type walker struct {
	faults []fault
	seen   map[visit]bool // aliases lead to a node more than once
}

type fault struct {
	line int
	text string
}

type visit struct {
	node *yaml.Node
	as   reflect.Type
}

func (w *walker) add(line int, format string, args ...any) {
	w.faults = append(w.faults, fault{line, fmt.Sprintf(format, args...)})
}

func (w *walker) walk(node *yaml.Node, as reflect.Type) {
	if w.seen[visit{node, as}] {
		return
	}
	w.seen[visit{node, as}] = true
	if node.Kind == yaml.AliasNode {
		w.walk(node.Alias, as)
		return
	}
	switch {
	case as.Kind() == reflect.Pointer:
		w.walk(node, as.Elem())
	case as.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Tag == "!!null" || item.Alias != nil && item.Alias.Tag == "!!null" {
				w.add(item.Line, "an item of a list is empty") // decoding would leave it out
				continue
			}
			w.walk(item, as.Elem())
		}
	case as.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		w.fields(node, as)
	case node.Kind == yaml.MappingNode:
		node.Content = nil // is no scalar and no list, as decoding will say
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
		if err := scalarFault(node, as); err != nil {
			w.add(node.Line, "%v", err)
			*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: node.Line}
		}
	}
}

// scalarFault says why a value does not decode, when decoding would not say where (text), or not at all
// (fractions are cut).
func scalarFault(node *yaml.Node, as reflect.Type) error {
	if text, ok := reflect.New(as).Interface().(encoding.TextUnmarshaler); ok {
		return text.UnmarshalText([]byte(node.Value))
	}
	if as.Kind() != reflect.Int && as.Kind() != reflect.Int64 || node.Tag != "!!float" {
		return nil
	}
	var number float64
	if err := node.Decode(&number); err != nil || number != math.Trunc(number) {
		return fmt.Errorf("%s is not a whole number", node.Value)
	}
	if number == 1<<63 || number < -1<<63 { // decoding would wrap these
		return fmt.Errorf("%s is too large", node.Value)
	}
	return nil
}

// fields walks a mapping as a struct.
func (w *walker) fields(node *yaml.Node, as reflect.Type) {
	known := make(map[string]reflect.Type, as.NumField())
	for i := range as.NumField() {
		if tag := as.Field(i).Tag.Get("yaml"); tag != "-" {
			known[tag] = as.Field(i).Type
		}
	}
	first := make(map[string]int, len(known)) // lines
	// Decoding compares each key with each other, so that it gets only those that are known, once.
	var kept []*yaml.Node
	defer func() { node.Content = kept }()
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if line, twice := first[key.Value]; twice {
			w.add(key.Line, "mapping key %q already defined at line %d", key.Value, line)
			continue
		}
		if _, ok := known[key.Value]; key.Kind == yaml.ScalarNode && ok || key.Tag == "!!merge" {
			first[key.Value] = key.Line
			kept = append(kept, key, value)
		}
		switch field, ok := known[key.Value]; {
		case key.Kind == yaml.ScalarNode && ok:
			w.walk(value, field)
		case key.Tag == "!!merge":
			w.merged(value, as)
		default:
			w.add(key.Line, "unknown field %q", key.Value)
		}
	}
}

// merged walks what a merge key (<<) adds to a mapping: one mapping or a list of them.
func (w *walker) merged(value *yaml.Node, as reflect.Type) {
	if value.Kind == yaml.SequenceNode {
		for _, item := range value.Content {
			w.walk(item, as)
		}
		return
	}
	w.walk(value, as)
}

var numbered = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// decodeError takes over what decoding reports.
func (w *walker) decodeError(err error) {
	texts := []string{err.Error()}
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = several.Errors
	}
	for _, text := range texts {
		line := 0
		if match := numbered.FindStringSubmatch(text); match != nil {
			line, _ = strconv.Atoi(match[1])
			text = match[2]
		}
		w.add(line, "%s", strings.ReplaceAll(text, "scenario.", ""))
	}
}

// join returns all faults in the order of their lines.
func (w *walker) join(name string) error {
	slices.SortStableFunc(w.faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, len(w.faults))
	for i, f := range w.faults {
		place := name
		if f.line > 0 {
			place = fmt.Sprintf("%s: line %d", name, f.line)
		}
		errs[i] = fmt.Errorf("%s: %s", place, f.text)
	}
	return errors.Join(errs...)
}

// syntaxError names the file of an error of the YAML parser, whose lines may be those where the construct
// begins, or one off, and guesses at a file that was cut off.
func syntaxError(name string, err error, data []byte) error {
	match := numbered.FindStringSubmatch(err.Error())
	if match == nil {
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	hint := ""
	if line, _ := strconv.Atoi(match[1]); line >= bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")) {
		hint = " (the file ends there: is it cut off?)"
	}
	return fmt.Errorf("%s: near line %s: %s%s", name, match[1], match[2], hint)
}
