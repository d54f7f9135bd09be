package scenariofile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// chooses says whether a struct selects nodes.
func chooses(as reflect.Type) bool {
	of := reflect.TypeFor[simulation.Nodes]()
	field, ok := as.FieldByName("Nodes")
	return as == of || ok && field.Type == of
}

// nodes turns what a file may say about nodes into what simulation.Nodes has: node is a list of one, a selector may be a
// mapping, an empty one means every node, and the zone of nodes without a label has no name.
func (w *walker) nodes(node *yaml.Node) {
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		key, value := node.Content[i], node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			copied := *value.Alias
			copied.Anchor = ""
			value = &copied
			node.Content[i+1] = value
		}
		switch key.Value {
		case "node":
			if field(node, "nodes") != nil {
				w.add(key.Line, "node and nodes cannot both be set")
			}
			key.Value = "nodes"
			if value.Kind == yaml.ScalarNode {
				node.Content[i+1] = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: value.Line, Content: []*yaml.Node{value}}
			}
		case "zone":
			if value.Kind == yaml.ScalarNode && value.Tag == "!!str" && value.Value == "" {
				value.Value = ":"
			}
		case "count", "percent":
			if n, err := strconv.ParseFloat(value.Value, 64); err == nil && n == 0 {
				w.add(value.Line, "%s: 0 selects no node", key.Value)
			}
		case "selector":
			w.selects(node, i, value)
		}
	}
}

// selects reads the selector at a place of a mapping.
func (w *walker) selects(node *yaml.Node, i int, value *yaml.Node) {
	if value.Kind == yaml.MappingNode {
		w.selector(value)
	}
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		return
	}
	if _, err := labels.Parse(value.Value); err != nil {
		w.add(value.Line, "selector %q: %v", value.Value, err)
	}
	if value.Value != "" {
		return
	}
	line := node.Content[i].Line
	node.Content = slices.Delete(node.Content, i, i+2)
	if field(node, "count") == nil && field(node, "percent") == nil && field(node, "zone") == nil {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "percent", Line: line},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "100", Line: line})
	}
}

// selector turns a mapping of labels into the text of a label selector.
func (w *walker) selector(node *yaml.Node) {
	w.entries(node, reflect.TypeFor[map[string]string]())
	var all []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.Kind != yaml.ScalarNode {
			w.add(value.Line, "the value of %s is not a string", node.Content[i].Value)
			continue
		}
		all = append(all, node.Content[i].Value+"="+value.Value)
	}
	*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.Join(all, ","), Line: node.Line}
}
