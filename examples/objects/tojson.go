package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// toJSON converts one YAML document, whose first line has the number start in its file. Keys become strings; timestamps
// and binary data stay text. Aliases become what their anchors stand for, up to MaxObject, because with them a small text can
// expand to a huge one. Merge keys and duplicate keys are refused. Errors start with the line.
func toJSON(text []byte, start int) ([]byte, anchors, error) {
	root, err := parse(text, start)
	if root == nil || err != nil {
		return []byte("null"), nil, err
	}
	return convert(root, start, len(text))
}

// parse returns the node of a document; nil if it is empty.
func parse(text []byte, start int) (*yaml.Node, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&document)
	if err == nil { // what is indented less than the beginning would be left out
		if err = decoder.Decode(new(yaml.Node)); err == nil {
			err = errors.New("a second document")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if line, column := Tab(text); line > 0 && strings.Contains(err.Error(), "cannot start any token") {
			return nil, fmt.Errorf("line %d, column %d: a tab; YAML allows only spaces for indentation", start+line-1, column)
		}
		return nil, moved(err, start)
	}
	if len(document.Content) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	return document.Content[0], nil
}

func convert(node *yaml.Node, start, size int) ([]byte, anchors, error) {
	c := converter{start: start, dst: make([]byte, 0, size)}
	if err := c.append(node); err != nil {
		return nil, nil, err
	}
	return c.dst, c.anchors, nil
}

var lineNumber = regexp.MustCompile(`line (\d+): `)

// moved corrects the line in an error of the parser, and puts it first.
func moved(err error, start int) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if match := lineNumber.FindStringSubmatchIndex(text); match != nil {
		line, _ = strconv.Atoi(text[match[2]:match[3]])
		text = text[:match[0]] + text[match[1]:]
	}
	return fmt.Errorf("near line %d: %s%s", start+line-1, text, Mend(text))
}

// Mend says what usually mends what the YAML parser complains about, such as " (is a quote not closed …?)". It is empty if
// there is no usual cause.
func Mend(complaint string) string {
	for _, usual := range []struct{ complaint, cause string }{
		{"mapping values are not allowed", "is a space missing after a colon, a line indented wrongly, or a text with a colon without quotes?"},
		{"unexpected end of stream", "is a quote not closed, or is the file cut off?"},
		{"did not find expected key", "is a line indented otherwise than its neighbours, or a bracket or quote not closed?"},
		{"did not find expected <document start>", "is a line indented less than those before it?"},
		{"did not find expected ',' or", "is a bracket not closed, or is the file cut off?"},
		{"cannot start any token", "a text that begins with such a character needs quotes"},
		{"did not find expected whitespace or line break", "a text that begins with ! needs quotes"},
		{"did not find expected alphabetic or numeric character", "a text that begins with * or & needs quotes"},
		{"unknown anchor", "a text that begins with * needs quotes"},
	} {
		if strings.Contains(complaint, usual.complaint) {
			return " (" + usual.cause + ")"
		}
	}
	return ""
}

type converter struct {
	start    int
	dst      []byte
	anchors  anchors
	anchored int          // bytes of what these stand for; each that is within another counts in both
	within   []*yaml.Node // for which aliases stand that are being replaced
}

func (c *converter) fail(node *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", c.start+node.Line-1, fmt.Sprintf(format, args...))
}

func (c *converter) append(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode {
		return c.alias(node)
	}
	from := len(c.dst)
	if err := c.appendValue(node); err != nil || node.Anchor == "" {
		return err
	}
	if c.anchored += len(c.dst) - from; c.anchored > MaxObject {
		return errAnchored
	}
	if c.anchors == nil {
		c.anchors = make(anchors)
	}
	c.anchors[node.Anchor] = bytes.Clone(c.dst[from:])
	return nil
}

// alias appends what an alias stands for.
func (c *converter) alias(node *yaml.Node) error {
	switch {
	case slices.Contains(c.within, node.Alias) || node.Alias.Line == 0:
		return c.fail(node, "*%s is within what it stands for", node.Value)
	case len(c.dst) > MaxObject:
		return c.fail(node, "with what *%s stands for, it is too large: more than %d MiB", node.Value, MaxObject>>20)
	}
	c.within = append(c.within, node.Alias)
	err := c.appendValue(node.Alias)
	c.within = c.within[:len(c.within)-1]
	return err
}

func (c *converter) appendValue(node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		return c.mapping(node)
	case yaml.SequenceNode:
		c.dst = append(c.dst, '[')
		for i, item := range node.Content {
			if i > 0 {
				c.dst = append(c.dst, ',')
			}
			if err := c.append(item); err != nil {
				return err
			}
		}
		c.dst = append(c.dst, ']')
		return nil
	}
	return c.scalar(node)
}

func (c *converter) mapping(node *yaml.Node) error {
	seen := make(map[string]bool, len(node.Content)/2)
	c.dst = append(c.dst, '{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Anchor != "":
			return c.fail(key, "a key is not plain text")
		case key.Tag == "!!merge":
			return c.fail(key, "merge keys are not supported")
		case seen[key.Value]:
			return c.fail(key, "%q is there twice", key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			c.dst = append(c.dst, ',')
		}
		c.text(key.Value)
		c.dst = append(c.dst, ':')
		if err := c.append(node.Content[i+1]); err != nil {
			return err
		}
	}
	c.dst = append(c.dst, '}')
	return nil
}

func (c *converter) scalar(node *yaml.Node) error {
	var value any
	switch node.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		if err := node.Decode(&value); err != nil {
			return c.fail(node, "%q is no value of type %s", node.Value, node.Tag)
		}
	default:
		c.text(node.Value)
		return nil
	}
	if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return c.fail(node, "%s is not a number", node.Value)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return c.fail(node, "%v", err)
	}
	c.dst = append(c.dst, encoded...)
	return nil
}

// text appends a JSON string.
func (c *converter) text(s string) {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b == '"' || b == '\\' || b > '~' {
			encoded, _ := json.Marshal(s) // a string always encodes
			c.dst = append(c.dst, encoded...)
			return
		}
	}
	c.dst = append(append(append(c.dst, '"'), s...), '"')
}

// Tab returns the place of the first tab that indents a line of text, counted from 1; zeros if there is none.
func Tab(text []byte) (line, column int) {
	for of := range bytes.Lines(text) {
		line++
		rest := bytes.TrimLeft(of, " ")
		if len(rest) > 0 && rest[0] == '\t' && !blank(rest) {
			return line, len(of) - len(rest) + 1
		}
	}
	return 0, 0
}
