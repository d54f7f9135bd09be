// Package fences holds, as tests, rules of this repository that no linter knows.
package fences

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/evictkit/evictkit"
	root   = "../.."
)

// pure packages only decide. None imports another, and all but timedworker, whose Run waits for what it starts, start no
// goroutine.
var pure = []string{"zone", "health", "ratelimitqueue", "timedworker", "taints"}

func TestPurePackagesDoNotKnowEachOther(t *testing.T) {
	for _, pkg := range pure {
		dependencies := strings.Fields(run(t, "go", "list", "-deps", "./"+pkg))
		require.Contains(t, dependencies, module+"/"+pkg)
		for _, dependency := range dependencies {
			if name, ours := strings.CutPrefix(dependency, module+"/"); ours && name != pkg {
				require.True(t, strings.HasPrefix(name, "internal/"), "%s depends on %s", pkg, dependency)
			}
		}
	}
}

func TestNoGoroutines(t *testing.T) {
	for _, pattern := range []string{"zone", "health", "ratelimitqueue", "taints", "evictor/internal/*", "evictor/nodepressure/summary"} {
		files := files(t, pattern+"/*.go")
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && file != "evictor/internal/loop/loop.go" { // only within Run
				require.NotRegexp(t, `(?m)^\s*go \S.*\(`, page(t, file), "%s starts a goroutine: only Run may, in timedworker and in the evictor's loop", file)
			}
		}
	}
}

// A sleep is exact and free only within a bubble of testing/synctest.
func TestTestsDoNotSleep(t *testing.T) {
	for _, file := range files(t, "*_test.go") {
		if text := page(t, file); strings.Contains(text, "time.Sleep"+"(") {
			require.Contains(t, text, `"testing/synctest"`, "%s sleeps in real time: use a fake clock, or testing/synctest", file)
		}
	}
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
	require.Empty(t, mod.Replace)
	var direct []string
	for _, requirement := range mod.Require {
		if !requirement.Indirect {
			direct = append(direct, requirement.Path)
		}
	}
	require.ElementsMatch(t, []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/utils", "golang.org/x/time", "github.com/stretchr/testify",
	}, direct, "these, no more and no less: what needs another goes into a nested module")
	require.NotContains(t, run(t, "go", "list", "-f", `{{join .Imports " "}}`, "./..."), "stretchr/testify", "only tests may import it")
}

func TestTopLevelEntries(t *testing.T) {
	allowed := append([]string{
		"evictor", "examples", "internal",
		"go.mod", "go.sum", "doc.go", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "DIFFERENCES.md", "MIGRATING.md", "SECURITY.md",
	}, pure...)
	for _, file := range files(t) {
		if top, _, _ := strings.Cut(file, "/"); !strings.HasPrefix(top, ".") {
			require.Contains(t, allowed, top, "%s: the top level is fixed, put it below evictor, examples or internal", file)
		}
	}
}

// Each version in the support table is one that .ci/run uses. The README names the floors.
func TestTheSupportTableIsWhatIsTried(t *testing.T) {
	found := func(file, expression string) string {
		match := regexp.MustCompile(expression).FindStringSubmatch(page(t, file))
		require.NotNil(t, match, "%s has no %s", file, expression)
		return match[1]
	}
	required := func(mod, name string) string {
		return found(mod, `(?m)^(?:require)?\s+`+regexp.QuoteMeta(name)+` v(\S+)`)
	}
	minor := func(version string) string { return version[:strings.LastIndex(version, ".")] }
	floor, today, library := found(".ci/run", `(?m)^floor=go(\S+)$`), minor(found("examples/go.mod", `(?m)^go (\S+)$`)), required("go.mod", "k8s.io/api")
	newer := required("evictor/clientgo/go.mod", "k8s.io/client-go")
	require.Equal(t, library, required("evictor/compat/go.mod", "k8s.io/client-go"))
	require.Equal(t, newer, required("evictor/nodepressure/go.mod", "k8s.io/api"))
	newest := minor(required("examples/go.mod", "k8s.io/api"))
	clientset, server := required("internal/conformance/floor/clientset/go.mod", "k8s.io/client-go"), required("internal/conformance/floor/apiserver/go.mod", "k8s.io/apiserver")
	const runtime, upstream = "sigs.k8s.io/controller-runtime", "k8s.io/kubernetes"
	conformance := required("internal/conformance/go.mod", upstream)
	for _, row := range []string{
		"| Go, for the libraries | " + floor + " (floor), " + today + " |",
		"| Go, for the programs in `examples` | " + today + " |",
		"| Kubernetes' libraries, for the root and `evictor/compat` | " + library + " (floor), " + newest + " (newest) |",
		"| Kubernetes' libraries, for the other modules | " + newer + " (floor), " + newest + " (newest) |",
		"| Kubernetes' libraries of others beside the root (`internal/conformance/floor`) | client-go " + clientset + ", apiserver " + server + " |",
		"| controller-runtime | " + required("evictor/manager/go.mod", runtime) + " (floor), " + required("examples/go.mod", runtime) + " |",
		"| kube-apiserver, a real one | " + conformance + " |",
		"| upstream's controllers, beside ours | " + conformance + ", " + required("internal/conformance/v118/go.mod", upstream) + " |",
	} {
		require.Contains(t, page(t, "CONTRIBUTING.md"), row, "write this row into the table of CONTRIBUTING.md")
	}
	require.Contains(t, page(t, "README.md"), "need Go "+minor(floor)+" and version "+minor(library)+" of the Kubernetes libraries")
}

// files returns the files of the repository that match, whether git tracks them yet or not.
func files(t *testing.T, patterns ...string) (found []string) {
	t.Helper()
	for _, file := range strings.Fields(run(t, "git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, patterns...)...)) {
		if _, err := os.Stat(filepath.Join(root, file)); err == nil {
			found = append(found, file)
		}
	}
	return found
}

// look reads each directory, because go test does not know what a command reads: after any change of the tree it must not
// answer from its cache.
var look = sync.OnceValue(func() error {
	return filepath.WalkDir(root, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		return err
	})
})

// run runs a command at the root of the module and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	require.NoError(t, look())
	command := exec.Command(name, args...)
	command.Dir, command.Stderr = root, os.Stderr
	output, err := command.Output()
	require.NoError(t, err, "%v", command.Args)
	return string(output)
}

// page reads a file by its path from the root.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}
