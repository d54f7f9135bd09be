package scenariofile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// apply makes the changes in the document of a file. What they add has a negative line, from which at finds the change again.
func apply(name string, root *yaml.Node, sets []Set) error {
	for i, set := range sets {
		if err := set.apply(root, i-len(sets)); err != nil {
			return fmt.Errorf("%s: %s: %w", name, set.place(), err)
		}
	}
	return nil
}

// place names the change.
func (s Set) place() string {
	if s.Flag != "" {
		return s.Flag
	}
	return "--set " + s.Path + "=" + s.Value
}

func (s Set) apply(root *yaml.Node, line int) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(s.Value), &document); err != nil {
		return fmt.Errorf("%q: %w", s.Value, err)
	}
	if len(document.Content) == 0 {
		return errors.New("the value is missing")
	}
	value := document.Content[0]
	onLine(value, line)
	at := root
	for _, step := range strings.Split(s.Path, ".") {
		if at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		next, err := descend(at, step, line)
		if err != nil {
			return err
		}
		at = next
	}
	*at = *value
	return nil
}

// descend goes to a field, and adds it if it is missing, or to an item of a list.
func descend(at *yaml.Node, step string, line int) (*yaml.Node, error) {
	if step == "" {
		return nil, errors.New("the path has an empty step")
	}
	switch {
	case at.Kind == yaml.SequenceNode:
		return item(at, step)
	case at.Kind == yaml.MappingNode:
		if value := field(at, step); value != nil {
			return value, nil
		}
	case at.Kind == 0 || at.Tag == "!!null":
		*at = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line}
	default:
		return nil, fmt.Errorf("%s does not exist: its parent is a plain value", step)
	}
	value := &yaml.Node{Line: line}
	at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step, Line: line}, value)
	return value, nil
}

func field(at *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == name {
			return at.Content[i+1]
		}
	}
	return nil
}

// item finds an item by its number from 1, or by its name.
func item(list *yaml.Node, step string) (*yaml.Node, error) {
	if n, err := strconv.Atoi(step); err == nil {
		if n < 1 || n > len(list.Content) {
			return nil, fmt.Errorf("item %d does not exist: the list has %d", n, len(list.Content))
		}
		return list.Content[n-1], nil
	}
	for _, item := range list.Content {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if name := field(item, "name"); name != nil && name.Value == step {
			return item, nil
		}
	}
	return nil, fmt.Errorf("no item is named %s", step)
}

// onLine replaces the positions of a value in its own text.
func onLine(n *yaml.Node, line int) {
	n.Line, n.Column = line, 0
	for _, inner := range n.Content {
		onLine(inner, line)
	}
}
