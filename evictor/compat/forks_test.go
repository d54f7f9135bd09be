//go:build go1.26

package compat_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module      = "github.com/evictkit/evictkit"
	controllers = "pkg/controller/"
)

// fork is a program in testdata with copies of upstream's files.
type fork struct {
	version, program string            // of Kubernetes; a folder of testdata
	language         string            // of go.mod
	copies           map[string]string // upstream's files, by their place in the fork
	libraries        string            // the version of k8s.io's libraries, before and after
	pinned           bool              // by replace directives
}

func forks() map[string]fork {
	v126 := map[string]string{
		"scheduler/rate_limited_queue.go": controllers + "nodelifecycle/scheduler/rate_limited_queue.go",
		"scheduler/timed_workers.go":      controllers + "nodelifecycle/scheduler/timed_workers.go",
	}
	v136 := map[string]string{
		"scheduler/rate_limited_queue.go":   controllers + "nodelifecycle/scheduler/rate_limited_queue.go",
		"tainteviction/timed_workers.go":    controllers + "tainteviction/timed_workers.go",
		"tainteviction/namespacedobject.go": controllers + "tainteviction/namespacedobject.go",
	}
	return map[string]fork{
		"v1.26, libraries pinned":   {"v1.26.15", "v126", "1.19", v126, "v0.26.15", true},
		"v1.26, libraries required": {"v1.26.15", "v126", "1.19", v126, "v0.26.15", false},
		"v1.36":                     {"v1.36.3", "v136", "1.26.0", v136, "v0.36.3", false},
	}
}

// Forks migrate by the steps of MIGRATING.md, section "From a fork". The imports are taken from that page, and the files to add
// from the folders that it names. Before and after, the programs print the same.
func TestForksMigrateByTheSteps(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" || testing.Short() {
		t.Skip("downloads Kubernetes: only with EVICTKIT_FULL")
	}
	text, err := os.ReadFile("../../MIGRATING.md")
	require.NoError(t, err)
	_, page, found := strings.Cut(string(text), "\n## From a fork\n")
	require.True(t, found)
	page, _, _ = strings.Cut(page, "\n## ")
	for name, f := range forks() {
		t.Run(name, func(t *testing.T) { f.migrates(t, page) })
	}
}

func (f fork) migrates(t *testing.T, page string) {
	dir := f.before(t)
	queues, workers := run(t, dir, "queues"), run(t, dir, "workers")
	require.Equal(t, f.libraries, built(t, dir))

	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	edit := []string{"mod", "edit"}
	for _, name := range []string{"", "/evictor/compat"} {
		edit = append(edit, "-require="+module+name+"@v0.0.0", "-replace="+module+name+"="+root+name)
	}
	command(t, dir, "go", edit...)
	for to := range f.copies {
		require.NoError(t, os.Remove(filepath.Join(dir, to)))
	}
	require.Contains(t, page, "(evictor/compat/testdata/added/"+f.program+")")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/added/"+f.program)))
	require.Equal(t, queues, run(t, dir, "queues"))
	require.Equal(t, workers, run(t, dir, "workers"))
	command(t, dir, "go", "test", "-vet=off", "./...")
	require.Equal(t, f.libraries, built(t, dir))
	if f.program == "v126" {
		require.Equal(t, "1.23.0", strings.TrimSpace(command(t, dir, "go", "list", "-m", "-f", "{{.GoVersion}}")), "what compat needs")
	}

	// Where the folder has nothing else, changing the import is enough.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "scheduler")))
	f.imports(t, page, filepath.Join(dir, "queues", "main.go"))
	require.Equal(t, queues, run(t, dir, "queues"))
	t.Logf("built with client-go %s:\n%s%s", f.libraries, queues, workers)
}

// before makes the fork as it is before it migrates.
func (f fork) before(t *testing.T) (dir string) {
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", f.program))))
	var kubernetes struct{ Dir string }
	require.NoError(t, json.Unmarshal([]byte(command(t, dir, "go", "mod", "download", "-json", "k8s.io/kubernetes@"+f.version)), &kubernetes))
	for to, from := range f.copies {
		text, err := os.ReadFile(filepath.Join(kubernetes.Dir, from))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(to)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o600))
	}
	command(t, dir, "go", "mod", "init", "example.org/fork")
	edit := []string{"mod", "edit", "-go=" + f.language}
	for _, library := range []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"} {
		edit = append(edit, "-require="+library+"@"+f.libraries)
		if f.pinned {
			edit = append(edit, "-replace="+library+"="+library+"@"+f.libraries)
		}
	}
	command(t, dir, "go", edit...)
	return dir
}

// imports changes the import of upstream's queues as the page's table says.
func (f fork) imports(t *testing.T, page, file string) {
	row := map[string]string{"v126": "v1.23 to v1.26", "v136": "v1.33 and later"}[f.program]
	found := regexp.MustCompile("(?m)^\\| " + row + " \\| `k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler` \\| `(\\S+)` ").FindStringSubmatch(page)
	require.NotNil(t, found, row)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := strings.Replace(string(text), `"example.org/fork/scheduler"`, `"`+found[1]+`"`, 1)
	require.NotEqual(t, string(text), changed)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
}

// built returns the version of client-go that the fork is built with.
func built(t *testing.T, dir string) string {
	return strings.TrimSpace(command(t, dir, "go", "list", "-m", "-f", "{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}", "k8s.io/client-go"))
}

// run builds a program of the fork and returns what it prints.
func run(t *testing.T, dir, program string) string {
	t.Helper()
	command(t, dir, "go", "build", "-o", program+".bin", "./"+program)
	return command(t, dir, filepath.Join(dir, program+".bin"))
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	run := exec.Command(name, args...)
	run.Dir = dir
	run.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	var printed strings.Builder
	run.Stderr = &printed
	out, err := run.Output()
	require.NoError(t, err, "%s %s\n%s%s", name, args, out, printed.String())
	return string(out)
}
