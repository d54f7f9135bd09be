package differential

import (
	"encoding/json"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/examples/objects"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
)

// objectFile is the name of a case's file of objects, beside its scenario.
const objectFile = "objects.json"

// Case is a scenario and, if it has a file of objects, these objects.
type Case struct {
	Scenario scenario.Scenario
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
			list.Items = append(list.Items, n)
		}
		for _, p := range c.Pods {
			list.Items = append(list.Items, p)
		}
		text, err := json.MarshalIndent(list, "", " ")
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, objectFile), append(text, '\n'), 0o600); err != nil {
			return "", err
		}
	}
	var root yaml.Node
	if err := root.Encode(&s); err != nil {
		return "", err
	}
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
	c := &Case{Scenario: *s}
	for _, file := range s.Cluster.Files {
		if err := c.read(file); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Case) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return objects.Stream(file, path, func(o objects.Object) error {
		switch {
		case o.Node != nil:
			c.Nodes = append(c.Nodes, o.Node)
		case o.Pod != nil:
			c.Pods = append(c.Pods, o.Pod)
		}
		return nil
	})
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
			if tidy(n.Content[i+1], depth+1) || n.Content[i].Value == "restart" && n.Content[i+1].Kind == yaml.MappingNode {
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
		return n.Tag != "!!null" && !(n.Tag == "!!str" && n.Value == "" && depth > 3) && !(n.Tag == "!!str" && n.Value == "")
	}
	for _, item := range n.Content {
		tidy(item, depth)
	}
	return true
}
