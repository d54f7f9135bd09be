package objects_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/examples/objects"
)

// FuzzStream: for any text, a stream returns an error that names the file, or has visited exactly what a parser of the
// whole text finds.
func FuzzStream(f *testing.F) {
	f.Add([]byte(kubectlYAML))
	f.Fuzz(func(t *testing.T, text []byte) {
		var visited []string
		count, err := objects.StreamCount(bytes.NewReader(text), "f", func(o objects.Object) error {
			switch {
			case o.Node != nil && o.Pod == nil:
				visited = append(visited, "Node/"+o.Node.Name)
			case o.Pod != nil && o.Node == nil:
				visited = append(visited, "Pod/"+o.Pod.Name)
			default:
				return errors.New("neither or both")
			}
			return nil
		})
		require.Equal(t, len(visited), count.Nodes+count.Pods)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f: "), "%v", err)
			require.NotContains(t, err.Error(), "neither or both")
			return
		}
		if want, ok := whole(text); ok {
			require.Equal(t, want, visited)
		}
	})
}

// whole reads a YAML text at once. It returns false for texts that must not be compared: they do not parse, or their
// lists have items without kinds.
func whole(text []byte) (names []string, ok bool) {
	type object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name string `yaml:"name"`
		} `yaml:"metadata"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document struct {
			object `yaml:",inline"`
			Items  *[]object `yaml:"items"`
		}
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return names, true
		case err != nil:
			return nil, false
		}
		found := []object{document.object}
		if document.Items != nil {
			found = *document.Items
		}
		for _, o := range found {
			if o.Kind == "" {
				return nil, false
			}
			if (o.Kind == "Node" || o.Kind == "Pod") && (o.APIVersion == "v1" || o.APIVersion == "") {
				names = append(names, o.Kind+"/"+o.Metadata.Name)
			}
		}
	}
}
