// Package names checks the list of upstream's names that MIGRATING.md maps to ours.
package names

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// versions of Kubernetes that the map is about; the last two are those of today.
var versions = []string{"v1.5.0", "v1.18.6", "v1.26.15", "v1.36.3", "v1.37.2"}

// declaring are the files, and folders of files, whose names the map has.
var declaring = []string{
	"pkg/controller/node/nodecontroller.go", "pkg/controller/node/controller_utils.go", "pkg/controller/node/rate_limited_queue.go", "pkg/controller/node/metrics.go",
	"pkg/controller/nodelifecycle", "pkg/controller/nodelifecycle/scheduler", "pkg/controller/tainteviction", "pkg/controller/util/node/controller_utils.go",
	"pkg/kubelet/eviction", "pkg/kubelet/eviction/api",
}

// plumbing are methods that only satisfy an interface of Go's.
var plumbing = []string{"_", "init", "Len", "Less", "Pop", "Push", "Sort", "String", "Swap", "Unwrap"}

// The list of upstream's names is whole, and the map says of each whether it is gone.
func TestListOfUpstreamsNamesIsWhole(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("downloads five versions of Kubernetes: only with EVICTKIT_FULL")
	}
	last := map[string]string{} // the last version that declares a name
	for _, version := range versions {
		download := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+version)
		download.Dir = t.TempDir()
		out, err := download.Output()
		require.NoError(t, err, "%s", out)
		var module struct{ Dir string }
		require.NoError(t, json.Unmarshal(out, &module))
		for _, file := range goFiles(t, module.Dir) {
			for _, name := range declared(t, file) {
				last[name] = version
			}
		}
	}
	list, err := os.ReadFile("../../fences/testdata/upstream.txt")
	require.NoError(t, err)
	listed := strings.Fields(string(list))
	for name, version := range last {
		if !slices.Contains(plumbing, name) {
			require.Contains(t, listed, name, "declared in %s", version)
		}
	}
	page, err := os.ReadFile("../../../MIGRATING.md")
	require.NoError(t, err)
	_, rows, _ := strings.Cut(string(page), "\n## The map\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `.*?\\|").FindAllString(rows, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`(?: \\(([\\d.]+)\\))?").FindAllStringSubmatch(row, -1) {
			version, ok := last[name[1]]
			until := "" // still there
			if ok && slices.Index(versions, version) < len(versions)-2 {
				until = strings.TrimPrefix(version[:strings.LastIndex(version, ".")], "v")
			}
			require.True(t, !ok || name[2] == until, "%s: %s, not %s", name[1], until, name[2])
		}
	}
	require.Greater(t, len(last), 350)
}

// goFiles returns the files of a copy of Kubernetes that declare what runs on Linux.
func goFiles(t *testing.T, kubernetes string) (files []string) {
	for _, path := range declaring {
		matches, err := filepath.Glob(filepath.Join(kubernetes, path))
		require.NoError(t, err)
		if !strings.HasSuffix(path, ".go") {
			matches, err = filepath.Glob(filepath.Join(kubernetes, path, "*.go"))
			require.NoError(t, err)
		}
		for _, file := range matches {
			name := filepath.Base(file)
			if !slices.ContainsFunc([]string{"_test.go", "_windows.go", "_unsupported.go", "mock"}, func(part string) bool { return strings.Contains(name, part) }) {
				files = append(files, file)
			}
		}
	}
	require.NotEmpty(t, files)
	return files
}

// declared returns the names that a file declares, methods without their types.
func declared(t *testing.T, file string) (names []string) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, declaration := range tree.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
