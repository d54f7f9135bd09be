// Package fences holds the rules between this module's packages as tests: which may import which, which may read a
// clock or start goroutines, and what the module requires and looks like from outside.
package fences

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/evictkit/evictkit"
	root   = "../.."
)

// pure packages only decide. None imports another.
var pure = []string{"zone", "health", "ratelimitqueue", "timedworker", "taints"}

// quiet packages start no goroutine. timedworker is not among them: its Run starts some, and waits for them.
var quiet = []string{"zone", "health", "ratelimitqueue", "taints"}

// pressure is pure except for its manager, and may import the pure packages. The packages that measure for it start no
// goroutine either: Run uses its caller's.
const (
	pressure        = "evictor/nodepressure"
	pressureCgroup  = pressure + "/cgroup"
	pressureSummary = pressure + "/summary"
)

func TestPurePackagesDoNotKnowEachOther(t *testing.T) {
	for _, pkg := range pure {
		dependencies := strings.Fields(run(t, "go", "list", "-deps", "./"+pkg))
		require.Contains(t, dependencies, module+"/"+pkg)
		for _, dependency := range dependencies {
			name, ours := strings.CutPrefix(dependency, module+"/")
			first, _, _ := strings.Cut(name, "/")
			if ours && name != pkg {
				require.Equal(t, "internal", first, "%s depends on %s", pkg, dependency)
			}
		}
	}
}

func TestPurePackagesReadNoClockOfTheirOwn(t *testing.T) {
	for _, pkg := range append([]string{pressure, pressureSummary}, pure...) {
		for _, file := range sources(t, pkg) {
			require.Empty(t, clockUses(t, file, nil))
		}
	}
}

func TestNoGoroutinesInQuietPackages(t *testing.T) {
	for _, pkg := range append([]string{pressureCgroup, pressureSummary}, quiet...) {
		for _, file := range sources(t, pkg) {
			require.Empty(t, goStatements(t, file, nil))
		}
	}
	for _, file := range sources(t, pressure) {
		if filepath.Base(file) != "manager.go" { // its Run waits for what it starts
			require.Empty(t, goStatements(t, file, nil))
		}
	}
}

// A sleep is exact and free only within a bubble of testing/synctest.
func TestTestsDoNotSleep(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		uses := clockUses(t, path, nil)
		uses = slices.DeleteFunc(uses, func(use string) bool { return !strings.HasSuffix(use, "time.Sleep") })
		if len(uses) > 0 {
			require.True(t, imports(t, path, "testing/synctest"), "sleeps outside of a bubble: %v", uses)
		}
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, files)
}

func TestRequirements(t *testing.T) {
	var mod struct {
		Go      string
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, "go", "mod", "edit", "-json")), &mod))
	require.Equal(t, "1.23.0", mod.Go)
	require.Empty(t, mod.Replace, "who requires this module does not see its replacements")
	var direct []string
	for _, requirement := range mod.Require {
		if !requirement.Indirect {
			direct = append(direct, requirement.Path)
		}
	}
	require.ElementsMatch(t, []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "golang.org/x/time", "github.com/stretchr/testify",
	}, direct, "these, no more and no less")
	used := run(t, "go", "list", "-test", "-f", `{{join .Imports "\n"}}`, "./...")
	for _, path := range direct {
		require.Contains(t, used, "\n"+path+"/", "required, but not used")
	}

	for _, line := range strings.Split(run(t, "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./..."), "\n") {
		require.NotContains(t, line, "stretchr/testify", "only tests use it")
	}
}

func TestTopLevelEntries(t *testing.T) {
	allowed := append([]string{
		"evictor", "examples", "internal",
		"go.mod", "go.sum", "doc.go", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "DIFFERENCES.md", "MIGRATING.md", "SECURITY.md",
	}, pure...)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		ignored := slices.Contains([]string{".test", ".out", ".prof"}, filepath.Ext(name)) // as in .gitignore
		if !strings.HasPrefix(name, ".") && !ignored {
			require.Contains(t, allowed, name)
		}
	}
}

// TestFencesHold shows that the checks find a violation.
func TestFencesHold(t *testing.T) {
	const source = `package p

import clock "time"

var now = clock.Now

func f(d clock.Duration) {
	go f(d)
	<-clock.After(d)
	_ = clock.Since(clock.Time{})
	_ = clock.Date
	type time struct{ Now int }
}
`
	require.Equal(t, []string{"p.go:5: time.Now", "p.go:9: time.After", "p.go:10: time.Since"}, clockUses(t, "p.go", source))
	require.Equal(t, []string{"p.go:8: go"}, goStatements(t, "p.go", source))
	require.Empty(t, clockUses(t, "p.go", "package p\n\nvar time struct{ Now int }\n\nvar now = time.Now\n"))
	const limiter = "package p\n\nimport _ \"golang.org/x/time/rate\"\n\nvar ok = l.Allow() && l.AllowN(now, 1)\n"
	require.Equal(t, []string{"p.go:5: Allow of a limiter"}, clockUses(t, "p.go", limiter))
}

// run runs a command at the root of the module and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(t, err, "%v: %s", command.Args, &stderr)
	return string(output)
}

// sources returns the files of a package without its tests.
func sources(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	require.NotEmpty(t, files, "package %s", pkg)
	return files
}

// clockUses finds what reads or waits for the real clock in a file, or in source if that is not nil. Where a rate.Limiter may
// be, so do those of its methods that take no time.
func clockUses(t *testing.T, file string, source any) []string {
	t.Helper()
	forbidden := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
	positions, tree := parse(t, file, source)
	name := ""
	var limits []string
	if imported(tree, "golang.org/x/time/rate") {
		limits = []string{"Allow", "Reserve", "Wait", "WaitN", "Tokens", "SetLimit", "SetBurst", "Delay", "Cancel"}
	}
	for _, spec := range tree.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != "time" {
			continue
		}
		name = "time"
		if spec.Name != nil {
			name = spec.Name.Name
		}
		require.NotEqual(t, ".", name, "%s: a dot import of time hides what is used", file)
	}
	var found []string
	ast.Inspect(tree, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if ok && slices.Contains(limits, use.Sel.Name) {
			found = append(found, fmt.Sprintf("%s:%d: %s of a limiter", file, positions.Position(use.Pos()).Line, use.Sel.Name))
		}
		if ok && name != "" && slices.Contains(forbidden, use.Sel.Name) {
			if pkg, ok := use.X.(*ast.Ident); ok && pkg.Name == name {
				found = append(found, fmt.Sprintf("%s:%d: time.%s", file, positions.Position(use.Pos()).Line, use.Sel.Name))
			}
		}
		return true
	})
	return found
}

func imports(t *testing.T, file, path string) bool {
	t.Helper()
	_, tree := parse(t, file, nil)
	return imported(tree, path)
}

func imported(tree *ast.File, path string) bool {
	return slices.ContainsFunc(tree.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == strconv.Quote(path) })
}

func goStatements(t *testing.T, file string, source any) []string {
	t.Helper()
	positions, tree := parse(t, file, source)
	var found []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if _, ok := n.(*ast.GoStmt); ok {
			found = append(found, fmt.Sprintf("%s:%d: go", file, positions.Position(n.Pos()).Line))
		}
		return true
	})
	return found
}

func parse(t *testing.T, file string, source any) (*token.FileSet, *ast.File) {
	t.Helper()
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, file, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	return positions, tree
}
