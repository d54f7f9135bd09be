package suites

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/port"
)

// TestUnits plays upstream's unit tests that parts and ports do not play. A file in testdata has the names that they use, made
// of ours; tests that use other names do not compile. Package parts plays the queue's other tests.
func TestUnits(t *testing.T) {
	for name, unit := range map[string]struct{ pkg, tests string }{
		"queue":         {theirs + "pkg/controller/nodelifecycle/scheduler", "rate_limited_queue_test.go"},
		"tainteviction": {theirs + "pkg/controller/tainteviction", "taint_eviction_test.go"},
		"taints":        {theirs + "pkg/util/taints", "taints_test.go"},
		"tolerations":   {"k8s.io/api/core/v1", "toleration_test.go"},
		"corev1":        {"k8s.io/component-helpers/scheduling/corev1", "helpers_test.go"},
		"topology":      {"k8s.io/component-helpers/node/topology", "helpers_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite, file := "units, "+name, name+"/upstream_test.go"
			m := made{}
			m.take(t, unit.pkg, name, strings.NewReplacer(`"`+unit.pkg+`"`, `"`+ours+played+name+`"`), unit.tests)
			for taken, text := range m {
				delete(m, taken)
				m[file] = text
			}
			m.read(t, "testdata/"+name+".go", name+"/ours.go", strings.NewReplacer())
			_, output, err := m.build(t, name, "-gcflags=-e")
			without := listed(t, suite, "left out")
			require.Equal(t, without, broken(t, m[file], string(output)), "%v\n%s", err, output)
			m[file], err = port.Without(m[file], without...)
			require.NoError(t, err)
			program, output, err := m.build(t, name)
			require.NoError(t, err, "%s", output)
			found, out := play(t, program, nil)
			judge(t, suite, found, out)
		})
	}
}

var complaint = regexp.MustCompile(`upstream_test\.go:(\d+):`)

// broken returns the functions about which the compiler complains, in order.
func broken(t *testing.T, source, output string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := map[string]bool{}
	for _, one := range complaint.FindAllStringSubmatch(output, -1) {
		line, err := strconv.Atoi(one[1])
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && files.Position(f.Pos()).Line <= line && line <= files.Position(f.End()).Line {
				found[f.Name.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
