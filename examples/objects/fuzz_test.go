package objects_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/examples/objects"
)

// FuzzStream: for any text, a stream returns an error that names the file, or has visited exactly what a parser of the
// whole text finds.
func FuzzStream(f *testing.F) {
	f.Add([]byte(kubectlYAML))
	f.Fuzz(func(t *testing.T, text []byte) {
		var visited []string
		count, err := objects.Stream(bytes.NewReader(text), "f", func(o runtime.Object) error {
			switch o := o.(type) {
			case *v1.Node:
				visited = append(visited, "Node/"+o.Name)
			case *v1.Pod:
				visited = append(visited, "Pod/"+o.Name)
			}
			return nil
		})
		require.Equal(t, len(visited), count.Read["Node"]+count.Read["Pod"])
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f: "), "%v", err)
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
