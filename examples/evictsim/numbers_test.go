package main

import (
	"encoding"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

// everyField writes the scenario that has every field, with fewer nodes and the files that it names.
func everyField(t *testing.T) (dir, text string) {
	t.Helper()
	all, err := os.ReadFile("../scenariofile/testdata/everything.yaml")
	require.NoError(t, err)
	dir = t.TempDir()
	for name, content := range map[string]string{
		"nodes.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {namespace: shop, name: web}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n",
		"b.json":     `{"metadata": {"gap_seconds": 600}, "data": [3, 1]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir, strings.NewReplacer("nodes: 100\n", "nodes: 12\n", "podsPerNode: 10\n", "podsPerNode: 2\n", "count: 30", "count: 3",
		", /clusters/pods.json", "", "../traces/", "", "until: 30m", "until: 13m").Replace(string(all))
}

// numberAt is a number, a duration or a quantity in a scenario.
type numberAt struct {
	node *yaml.Node
	path []string
}

// numbers returns those below a node.
func numbers(node *yaml.Node, as reflect.Type, path ...string) (all []numberAt) {
	for as.Kind() == reflect.Pointer {
		as = as.Elem()
	}
	_, text := reflect.New(as).Interface().(encoding.TextUnmarshaler)
	switch {
	case node.Kind == yaml.SequenceNode && as.Kind() == reflect.Slice:
		for i, item := range node.Content {
			all = append(all, numbers(item, as.Elem(), append(slices.Clone(path), strconv.Itoa(i+1))...)...)
		}
	case node.Kind == yaml.MappingNode && as.Kind() == reflect.Struct:
		for i := 0; i < len(node.Content); i += 2 {
			if field, ok := fieldOf(as, node.Content[i].Value); ok {
				all = append(all, numbers(node.Content[i+1], field, append(slices.Clone(path), node.Content[i].Value)...)...)
			}
		}
	case node.Kind == yaml.MappingNode && as.Kind() == reflect.Map && as.Elem() == reflect.TypeFor[simulation.Quantity]():
		for i := 0; i < len(node.Content); i += 2 {
			all = append(all, numberAt{node.Content[i+1], append(slices.Clone(path), node.Content[i].Value)})
		}
	case node.Kind == yaml.ScalarNode && (text && as != reflect.TypeFor[simulation.Owner]() || as.Kind() == reflect.Int || as.Kind() == reflect.Int64 || as.Kind() == reflect.Float64):
		all = append(all, numberAt{node, path})
	}
	return all
}

// fieldOf returns the type of a field by its name in files.
func fieldOf(as reflect.Type, name string) (reflect.Type, bool) {
	for i := range as.NumField() {
		switch tag, _, _ := strings.Cut(as.Field(i).Tag.Get("yaml"), ","); tag {
		case name:
			return as.Field(i).Type, true
		case "":
			if field, ok := fieldOf(as.Field(i).Type, name); ok {
				return field, true
			}
		}
	}
	return nil, false
}

// TestEveryNumberEndsOrIsAnswered: whatever a number of a scenario is, it is played to the end, or an error names the line and
// the field.
func TestEveryNumberEndsOrIsAnswered(t *testing.T) {
	dir, text := everyField(t)
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &document))
	file, lines := filepath.Join(dir, "scenario.yaml"), strings.Split(text, "\n")
	answer := regexp.MustCompile("^" + regexp.QuoteMeta(file) + `:\d+: `)
	all := numbers(document.Content[0], reflect.TypeFor[scenariofile.Scenario]())
	require.Greater(t, len(all), 75)
	ended := 0
	for _, n := range all {
		line, from := lines[n.node.Line-1], n.node.Column-1
		to := from + len(n.node.Value)
		if n.node.Style == yaml.DoubleQuotedStyle {
			to += len(`""`)
		}
		for _, value := range []string{".nan", ".inf", "-1", "-1s", "1e308", "9223372036854775807", "2562047h", "1ns"} {
			t.Run(strings.Join(n.path, ".")+"="+value, func(t *testing.T) {
				changed := slices.Clone(lines)
				changed[n.node.Line-1] = line[:from] + value + line[to:]
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(changed, "\n")), 0o600))
				_, _, err := simulate(t, "--quiet", "--scenario", file)
				if exitCode(err) == 0 || errors.Is(err, errUnexpected) {
					ended++
					return
				}
				require.Equal(t, 64, exitCode(err), err)
				require.Regexp(t, answer, err)
				require.ErrorContains(t, err, n.path[len(n.path)-1])
			})
		}
	}
	require.Greater(t, ended, 100)
}
