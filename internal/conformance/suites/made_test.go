package suites

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/port"
)

const (
	theirs = "k8s.io/kubernetes/"
	ours   = "github.com/evictkit/evictkit/internal/conformance/"
	played = "suites/played/" // the folder of what is made: it exists only while the go command runs
)

// made is files by their names below the folder played. What comes from upstream is read from the module cache.
type made map[string]string

// take takes files that match the patterns from one of upstream's packages.
func (m made) take(t *testing.T, pkg, as string, change *strings.Replacer, patterns ...string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	require.NoError(t, err, pkg)
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, "%s of %s", pattern, pkg)
		for _, file := range files {
			m.read(t, file, filepath.Join(as, strings.ReplaceAll(pkg, "/", "_")+"_"+filepath.Base(file)), change)
		}
	}
}

func (m made) read(t *testing.T, file, as string, change *strings.Replacer) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	m[as] = change.Replace(string(text))
}

// port takes the port of a controller; the ports import each other.
func (m made) port(t *testing.T, controller string) {
	t.Helper()
	const of = theirs + "pkg/controller/"
	files, err := port.Port{Of: of + controller, As: ours + played + controller, In: "../ports/" + controller}.Files()
	require.NoError(t, err)
	change := strings.NewReplacer(
		`"`+of+`tainteviction"`, `"`+ours+played+`tainteviction"`,
		`"node_collector"`, `"node_collector_ported"`, // the metrics of upstream's are registered too
	)
	for name, text := range files {
		if !strings.HasSuffix(name, "_test.go") {
			m[filepath.Join(controller, name)] = change.Replace(string(text))
		}
	}
}

// build builds the tests of a package of what is made, and returns the program.
func (m made) build(t *testing.T, pkg string, flags ...string) (program string, output []byte, err error) {
	t.Helper()
	work := t.TempDir()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for name, text := range m {
		to := filepath.Join(work, strings.ReplaceAll(name, "/", "_"))
		require.NoError(t, os.WriteFile(to, []byte(text), 0o600))
		at, err := filepath.Abs(filepath.Join("played", name))
		require.NoError(t, err)
		overlay.Replace[at] = to
	}
	table, err := json.Marshal(overlay)
	require.NoError(t, err)
	replace := filepath.Join(work, "overlay.json")
	require.NoError(t, os.WriteFile(replace, table, 0o600))
	program = filepath.Join(work, "suite.test")
	args := append([]string{"test", "-c", "-vet=off", "-ldflags", "-s -w", "-overlay", replace, "-o", program}, flags...)
	output, err = exec.Command("go", append(args, ours+played+pkg)...).CombinedOutput()
	return program, output, err
}

// results are the outcomes of tests that have no subtests, by name.
type results map[string]string

var outcome = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \(`)

// play runs a program. On a busy machine, an API server that has not started in time ends the program: then it is run
// again.
func play(t *testing.T, program string, env []string, flags ...string) (results, string) {
	t.Helper()
	var out []byte
	var err error
	for range 6 { // it ends soon then
		out, err = once(t, program, env, flags)
		if err == nil || !bytes.Contains(out, []byte("] PostStartHook ")) {
			break
		}
		t.Log("an API server has not started in time")
	}
	found := results{}
	for _, one := range outcome.FindAllStringSubmatch(string(out), -1) {
		found[one[2]] = one[1]
	}
	for name := range found {
		for at := strings.LastIndex(name, "/"); at > 0; at = strings.LastIndex(name[:at], "/") {
			delete(found, name[:at])
		}
	}
	if err != nil && len(found.with("FAIL")) == 0 {
		found["the program"] = "FAIL"
	}
	return found, string(out[max(0, len(out)-20_000):])
}

// once runs a program in a directory of its own, and kills what it leaves: an etcd.
func once(t *testing.T, program string, env, flags []string) ([]byte, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "suite") // a short name, since etcd has a socket in it
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	run := exec.CommandContext(t.Context(), program, append([]string{"-test.v", "-test.timeout=20m"}, flags...)...)
	run.Dir = dir
	run.Env = append(append(os.Environ(), "TMPDIR="+dir), env...)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := run.CombinedOutput()
	if run.Process != nil {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
	}
	return out, err
}

// only is the pattern of tests and subtests.
func only(tests []string) string {
	var levels [][]string
	for _, test := range tests {
		for depth, name := range strings.Split(test, "/") {
			if depth == len(levels) {
				levels = append(levels, nil)
			}
			if name = regexp.QuoteMeta(name); !slices.Contains(levels[depth], name) {
				levels[depth] = append(levels[depth], name)
			}
		}
	}
	var patterns []string
	for _, names := range levels {
		patterns = append(patterns, "^("+strings.Join(names, "|")+")$")
	}
	return strings.Join(patterns, "/")
}

// with returns the names of the tests that ended so, in order.
func (r results) with(outcome string) []string {
	var names []string
	for name, was := range r {
		if was == outcome {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// below returns the results of a test and its subtests.
func (r results) below(test string) results {
	found := results{}
	for name, was := range r {
		if name == test || strings.HasPrefix(name, test+"/") {
			found[name] = was
		}
	}
	return found
}
