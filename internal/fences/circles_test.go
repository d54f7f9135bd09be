package fences

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files of the simulator call each other in no circle but these, so that internal/DESIGN.md can list them from above to below.
func TestFilesOfTheSimulatorCallDownwards(t *testing.T) {
	const pkg = "evictor/simulation"
	calls := callsOf(t, pkg)
	require.Contains(t, calls["player.go"], "processes.go")
	require.ElementsMatch(t, []string{"budgets.go levels.go", "compare.go kubelet.go kubelet_start.go"}, circles(calls),
		"these call each other in a circle: what is below tells what is above by the watch, or by a function that it was given")
	for _, part := range []string{"jobs", "placement", "podgc", "sending", "statefulsets"} {
		require.Empty(t, circles(callsOf(t, pkg+"/internal/"+part)), part)
	}
}

// circles returns the groups of files that reach each other by calls, each as one text.
func circles(calls map[string]map[string]bool) (found []string) {
	reach := make(map[string]map[string]bool)
	var visit func(from, at string)
	visit = func(from, at string) {
		for to := range calls[at] {
			if !reach[from][to] {
				reach[from][to] = true
				visit(from, to)
			}
		}
	}
	for file := range calls {
		reach[file] = make(map[string]bool)
		visit(file, file)
	}
	for file := range calls {
		circle := slices.DeleteFunc(slices.Sorted(maps.Keys(reach[file])), func(other string) bool { return !reach[other][file] })
		if text := strings.Join(circle, " "); len(circle) > 0 && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
}

// callsOf returns which files of a package use functions of which others.
func callsOf(t *testing.T, pkg string) map[string]map[string]bool {
	t.Helper()
	exports := make(map[string]string)
	for _, line := range strings.Split(run(t, "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+pkg), "\n") {
		path, export, _ := strings.Cut(line, " ")
		exports[path] = export
	}
	set, parsed := token.NewFileSet(), []*ast.File(nil)
	for _, file := range files(t, pkg+"/*.go") {
		if filepath.Dir(file) != pkg || strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, file, page(t, file), 0)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	checked, err := config.Check(module+"/"+pkg, set, parsed, info)
	require.NoError(t, err)
	calls := make(map[string]map[string]bool)
	for used, of := range info.Uses {
		from, to := filepath.Base(set.Position(used.Pos()).Filename), filepath.Base(set.Position(of.Pos()).Filename)
		if _, is := of.(*types.Func); !is || of.Pkg() != checked || from == to {
			continue
		}
		if calls[from] == nil {
			calls[from] = make(map[string]bool)
		}
		calls[from][to] = true
	}
	return calls
}
