package scenariofile

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/objects"
)

// Parse reads a scenario from the text of a file. Errors begin with the name. It opens no other file: paths stay as
// they are and traces are nil.
func Parse(name string, data []byte, sets ...Set) (*Scenario, error) {
	s, _, err := parse(name, data, sets)
	return s, err
}

// parse returns also the document, as far as it was decoded.
func parse(name string, data []byte, sets []Set) (*Scenario, *yaml.Node, error) {
	root, err := documentOf(name, data)
	if err != nil {
		return nil, nil, err
	}
	if err := apply(name, root, sets); err != nil {
		return nil, nil, err
	}
	s := New()
	w := walker{seen: make(map[visit]bool)}
	w.walk(root, reflect.TypeFor[Scenario]())
	if err := root.Decode(s); err != nil {
		w.decodeError(err)
	}
	if len(w.faults) > 0 {
		return nil, nil, join(name, w.faults, sets)
	}
	return s, root, nil
}

// documentOf returns the mapping that a file has.
func documentOf(name string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: the file is larger than %d MiB", name, MaxSize>>20)
	}
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return nil, fmt.Errorf("%s: the file is compressed by gzip: unpack it first, for example with gunzip", name)
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
		return nil, fmt.Errorf("%s: the file has more than one document", name)
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: a scenario must be a mapping, such as until: 30m", at(name, root.Line, nil))
	}
	return root, nil
}

// walker finds faults that decoding cannot report with a line: unknown fields, and values that do not decode. It
// removes those values from the document, so that decoding finds other faults.
type walker struct {
	faults []fault
	seen   map[visit]bool // aliases lead to a node more than once
	path   []string       // of the current node
}

type visit struct {
	node *yaml.Node
	as   reflect.Type
}

// add adds a fault of the current node.
func (w *walker) add(line int, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if len(w.path) > 0 {
		err = fmt.Errorf("%s: %w", place(w.path), err)
	}
	w.faults = append(w.faults, fault{line, err})
}

// walk looks at a node, to which a step may lead from the current one.
func (w *walker) walk(node *yaml.Node, as reflect.Type, step ...string) {
	before := w.path
	w.path = append(before[:len(before):len(before)], step...)
	defer func() { w.path = before }()
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
		for i, item := range node.Content {
			if item.Tag == "!!null" || item.Alias != nil && item.Alias.Tag == "!!null" {
				w.add(item.Line, "item %d of the list is empty", i+1) // decoding would leave it out
				continue
			}
			w.walk(item, as.Elem(), strconv.Itoa(i+1))
		}
	case as.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		w.fields(node, as)
	case as.Kind() == reflect.Map && node.Kind == yaml.MappingNode:
		w.entries(node, as)
	case node.Tag != "!!null":
		w.value(node, as)
	}
}

// value checks what has no parts of its own, or should have none.
func (w *walker) value(node *yaml.Node, as reflect.Type) {
	faults := len(w.faults)
	switch node.Kind {
	case yaml.MappingNode:
		node.Content = nil // neither a scalar nor a list; decoding reports it
	case yaml.ScalarNode:
		if err := scalarFault(node, as); err != nil {
			w.add(node.Line, "%w", err)
		} else if as == reflect.TypeFor[time.Duration]() {
			node.Tag = "!!str" // 0 decodes as a number else
		}
	}
	if len(w.faults) == faults {
		if err := node.Decode(reflect.New(as).Interface()); err != nil {
			w.decodeError(err)
		}
	}
	if len(w.faults) > faults {
		*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: node.Line}
	}
}

// scalarFault says why a value does not decode, in cases where decoding would not say where (text), or would not fail
// at all (fractions are truncated).
func scalarFault(node *yaml.Node, as reflect.Type) error {
	if text, ok := reflect.New(as).Interface().(encoding.TextUnmarshaler); ok {
		return text.UnmarshalText([]byte(node.Value))
	}
	if as == reflect.TypeFor[time.Duration]() {
		if _, err := time.ParseDuration(node.Value); err != nil {
			if long.MatchString(node.Value) {
				return fmt.Errorf("%s is too long: the longest duration is %dh, 292 years", node.Value, math.MaxInt64/int64(time.Hour))
			}
			return fmt.Errorf("%q is not a duration such as 90s, 1m30s or 0", node.Value)
		}
		return nil
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

// long matches durations, also those that time.ParseDuration cannot represent.
var long = regexp.MustCompile(`^[-+]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

// fields checks a mapping against a struct.
func (w *walker) fields(node *yaml.Node, as reflect.Type) {
	if chooses(as) {
		w.nodes(node)
	}
	known := make(map[string]reflect.Type, as.NumField())
	fieldsOf(as, known)
	if chooses(as) {
		known["node"] = known["nodes"] // for suggestions: it is nodes by now
	}
	first := make(map[string]int, len(known)) // line of each key
	// Decoding compares all keys with each other, so it gets only known keys, each once.
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
			w.walk(value, field, key.Value)
		case key.Tag == "!!merge":
			w.merged(value, as)
		default:
			w.add(key.Line, "unknown field %q%s", key.Value, Hint(key.Value, maps.Keys(known)))
		}
	}
	for _, name := range required[as] {
		if _, given := first[name]; !given && !slices.ContainsFunc(node.Content, func(key *yaml.Node) bool { return key.Tag == "!!merge" }) {
			w.add(node.Line, "%s is missing", name)
		}
	}
}

// required are fields whose zero value means something else than that they are missing.
var required = map[reflect.Type][]string{
	reflect.TypeFor[simulation.Event]():  {"at"},
	reflect.TypeFor[simulation.Repeat](): {"every"},
}

// fieldsOf collects the fields of a struct, including inlined ones.
func fieldsOf(as reflect.Type, known map[string]reflect.Type) {
	for i := range as.NumField() {
		switch name, _, _ := strings.Cut(as.Field(i).Tag.Get("yaml"), ","); name {
		case "-":
		case "":
			fieldsOf(as.Field(i).Type, known)
		default:
			known[name] = as.Field(i).Type
		}
	}
}

// entries checks a mapping with arbitrary keys, such as labels.
func (w *walker) entries(node *yaml.Node, as reflect.Type) {
	first := make(map[string]int, len(node.Content)/2) // line of each key
	var kept []*yaml.Node
	defer func() { node.Content = kept }()
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		line, twice := first[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			w.add(key.Line, "a name is not a string")
		case twice:
			w.add(key.Line, "mapping key %q already defined at line %d", key.Value, line)
		case value.Tag == "!!null" || value.Kind == yaml.AliasNode && value.Alias.Tag == "!!null":
			w.add(value.Line, "%s has no value", key.Value)
		default:
			first[key.Value] = key.Line
			kept = append(kept, key, value)
			w.walk(value, as.Elem(), key.Value)
		}
	}
}

// merged checks what a merge key (<<) adds to a mapping: one mapping or a list of them.
func (w *walker) merged(value *yaml.Node, as reflect.Type) {
	if value.Kind == yaml.SequenceNode {
		for _, item := range value.Content {
			w.walk(item, as)
		}
		return
	}
	w.walk(value, as)
}

var numbered = regexp.MustCompile(`^(?:yaml: )?line (-?\d+): (.*)$`)

// decodeError adds the errors of decoding.
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
		w.add(line, "%s", plain(text))
	}
}

var undecodable = regexp.MustCompile("^cannot unmarshal !!(\\w+) ?(`.*`)? ?into (\\S+)$")

// plain says what was found and what is needed in YAML's words, and leaves other texts as they are.
func plain(text string) string {
	match := undecodable.FindStringSubmatch(text)
	if match == nil {
		return text
	}
	const whole = "a whole number below 2^63"
	words := map[string]string{
		"map": "a mapping", "seq": "a list", "bool": "true or false", "float64": "a number", "int": whole, "int64": whole, "string": "text",
		"Duration": "a duration", "TolerationSeconds": "a whole number or none", "Amount": "a number or a duration", "Quantity": "a quantity",
		"Owner": "an owner", "TaintEffect": "text", "TolerationOperator": "text", "ConditionStatus": "text", "NodeConditionType": "text",
	}
	needed, found := words[match[3][strings.LastIndexByte(match[3], '.')+1:]], cmp.Or(match[2], words[match[1]], match[1])
	switch {
	case strings.HasPrefix(match[3], "map["):
		needed = "a mapping"
	case needed != "":
	case strings.HasPrefix(match[3], "[]"):
		needed = "a list"
	default:
		needed = "a mapping"
	}
	return "found " + found + ", need " + needed
}

// syntaxError adds the file's name to an error of the YAML parser. The parser's lines may be those where the construct
// begins, or one off. It also says what usually mends it.
func syntaxError(name string, err error, data []byte) error {
	match := numbered.FindStringSubmatch(err.Error())
	if match == nil {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		return fmt.Errorf("%s: %s%s", at(name, aliasLine(text, data), nil), text, objects.Mend(text))
	}
	if line, column := objects.Tab(data); line > 0 && strings.Contains(match[2], "cannot start any token") {
		return fmt.Errorf("%s:%d: column %d: a tab; YAML allows only spaces for indentation", name, line, column)
	}
	hint := objects.Mend(match[2])
	if line, _ := strconv.Atoi(match[1]); hint == "" && line >= bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")) {
		hint = " (the file ends there: is it cut off?)"
	}
	return fmt.Errorf("%s:%s: near this line: %s%s", name, match[1], match[2], hint)
}

// aliasLine returns the line of an alias that the parser does not know, 0 if the text does not say so.
func aliasLine(complaint string, data []byte) int {
	match := unknownAlias.FindStringSubmatch(complaint)
	if match == nil {
		return 0
	}
	before, _, _ := bytes.Cut(data, []byte("*"+match[1]))
	return 1 + bytes.Count(before, []byte("\n"))
}

var unknownAlias = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
