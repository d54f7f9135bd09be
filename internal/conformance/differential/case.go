package differential

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/examples/scenariofile"
)

// objectFile is the name of a case's file of objects, beside its scenario.
const objectFile = "objects.json"

// Case is a scenario and, if it has a file of objects, these objects.
type Case struct {
	Scenario scenariofile.Scenario
	Nodes    []*v1.Node
	Pods     []*v1.Pod
}

// Save writes the case to a directory, as scenario.yaml and, if it has objects, objects.json. It returns the path of
// the scenario.
func (c *Case) Save(dir string) (path string, err error) {
	s := c.Scenario
	s.Cluster.Files = nil
	if len(c.Nodes)+len(c.Pods) > 0 {
		s.Cluster.Files = []string{objectFile}
		list := struct {
			metav1.TypeMeta
			Items []runtime.Object `json:"items"`
		}{TypeMeta: metav1.TypeMeta{Kind: "List", APIVersion: "v1"}}
		for _, n := range c.Nodes {
			typed := *n
			typed.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
			list.Items = append(list.Items, &typed)
		}
		for _, p := range c.Pods {
			typed := *p
			typed.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
			list.Items = append(list.Items, &typed)
		}
		text, err := json.MarshalIndent(list, "", " ")
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, objectFile), append(text, '\n'), 0o600); err != nil {
			return "", err
		}
	}
	var root, usual yaml.Node
	if err := errors.Join(root.Encode(&s), usual.Encode(scenariofile.New())); err != nil {
		return "", err
	}
	differ(&root, &usual)
	tidy(&root, 0)
	text, err := yaml.Marshal(&root)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "scenario.yaml")
	return path, os.WriteFile(path, text, 0o600)
}

// Open reads a case that Save wrote, or any other scenario.
func Open(path string) (*Case, error) {
	s, err := scenariofile.Load(path)
	if err != nil {
		return nil, err
	}
	objects, _, err := scenariofile.Objects(context.Background(), s.Cluster.Files)
	if err != nil {
		return nil, err
	}
	return &Case{*s, objects.Nodes, objects.Pods}, nil
}

// differ removes the fields that are as usual. Both come from values of one type.
func differ(fields, usual *yaml.Node) {
	var content []*yaml.Node
	for i := 0; i < len(fields.Content); i += 2 {
		value, other := fields.Content[i+1], usual.Content[i+1]
		if value.Kind == yaml.ScalarNode && value.Value == other.Value {
			continue
		}
		if value.Kind == yaml.MappingNode && other.Kind == yaml.MappingNode {
			differ(value, other)
		}
		content = append(content, fields.Content[i], value)
	}
	fields.Content = content
}

// tidy removes what is not set, and writes deep values on one line.
func tidy(n *yaml.Node, depth int) (keep bool) {
	if depth > 2 {
		n.Style |= yaml.FlowStyle
	}
	switch n.Kind {
	case yaml.MappingNode:
		var content []*yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			name, value := n.Content[i].Value, n.Content[i+1]
			if tidy(value, depth+1) || value.Kind == yaml.MappingNode && (name == "restart" || name == "reschedule") {
				content = append(content, n.Content[i], n.Content[i+1])
			}
		}
		n.Content = content
		return len(content) > 0
	case yaml.SequenceNode:
		for _, item := range n.Content {
			tidy(item, depth+1)
		}
		return len(n.Content) > 0
	case yaml.ScalarNode:
		return n.Tag != "!!null" && !(n.Tag == "!!str" && n.Value == "")
	}
	for _, item := range n.Content {
		tidy(item, depth)
	}
	return true
}
