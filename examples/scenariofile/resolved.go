package scenariofile

import (
	"bytes"
	"fmt"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// Resolved returns the text of a scenario with the changes applied and with absolute paths, for another program that
// reads it from elsewhere. Parse accepts that text.
func Resolved(name string, data []byte, dir string, sets ...Set) ([]byte, error) {
	var document yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&document); err != nil {
		return nil, syntaxError(name, err, data)
	}
	root := document.Content[0]
	if err := apply(name, root, sets); err != nil {
		return nil, err
	}
	var paths []*yaml.Node
	if cluster := pointed(field(root, "cluster")); cluster != nil {
		if files := field(cluster, "files"); files != nil {
			paths = append(paths, pointed(files).Content...)
		}
	}
	if traces := field(root, "availability"); traces != nil {
		for _, trace := range pointed(traces).Content {
			if file := field(pointed(trace), "file"); file != nil {
				paths = append(paths, file)
			}
		}
	}
	for _, path := range paths {
		if path = pointed(path); filepath.IsAbs(path.Value) {
			continue
		}
		absolute, err := filepath.Abs(filepath.Join(dir, path.Value))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		path.Value, path.Style = absolute, yaml.DoubleQuotedStyle
	}
	return yaml.Marshal(&document)
}

// pointed is what an alias stands for.
func pointed(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
