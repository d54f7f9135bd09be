package fences

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each version in the support table is one that .ci/run uses. The README names the floors.
func TestTheSupportTableIsWhatIsTried(t *testing.T) {
	floor := found(t, ".ci/run", `(?m)^floor=go(\S+)$`)
	minor := func(version string) string { return version[:strings.LastIndex(version, ".")] }
	today := minor(found(t, "examples/go.mod", `(?m)^go (\S+)$`))
	library := required(t, "go.mod", "k8s.io/api")
	for _, one := range []struct{ module, requires string }{
		{"go.mod", "k8s.io/apimachinery"}, {"evictor/clientgo/go.mod", "k8s.io/client-go"}, {"evictor/compat/go.mod", "k8s.io/client-go"},
	} {
		require.Equal(t, library, required(t, one.module, one.requires), one.module)
	}
	want := map[string]string{
		"Go, for the libraries":                             floor + " (floor), " + today,
		"Go, for the programs in `examples`":                today,
		"k8s.io/api, k8s.io/apimachinery, k8s.io/client-go": library + " (floor), " + minor(required(t, "examples/go.mod", "k8s.io/api")) + " (newest)",
		"controller-runtime": required(t, "evictor/manager/go.mod", "sigs.k8s.io/controller-runtime") + " (floor), " +
			required(t, "examples/go.mod", "sigs.k8s.io/controller-runtime"),
		"kube-apiserver, a real one": required(t, "internal/conformance/controlplane/go.mod", "k8s.io/kubernetes"),
		"upstream's controllers, beside ours": required(t, "internal/conformance/go.mod", "k8s.io/kubernetes") + ", " +
			required(t, "internal/conformance/v118/go.mod", "k8s.io/kubernetes"),
	}
	_, table, ok := strings.Cut(pageText(t, "CONTRIBUTING.md"), "| | tested by `.ci/run full` |\n| --- | --- |\n")
	require.True(t, ok, "CONTRIBUTING.md has no such table")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		require.Len(t, cells, 2, row)
		rows[cells[0]] = cells[1]
	}
	require.Equal(t, want, rows)
	require.Contains(t, pageText(t, "README.md"), "need Go "+minor(floor)+" and version "+minor(library)+" of the Kubernetes libraries")
}

// required returns the version of a module that a go.mod requires, without its v.
func required(t *testing.T, mod, name string) string {
	t.Helper()
	return found(t, mod, `(?m)^(?:require)?\s+`+regexp.QuoteMeta(name)+` v(\S+)`)
}

// found returns what the expression's group matches first in a file.
func found(t *testing.T, file, expression string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	match := regexp.MustCompile(expression).FindStringSubmatch(string(text))
	require.NotNil(t, match, "%s has no %s", file, expression)
	return match[1]
}
