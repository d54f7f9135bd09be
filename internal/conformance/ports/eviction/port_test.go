package eviction

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/google/go-cmp/cmp" // The tests' imports, so that go.mod has them.
	_ "github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	_ "k8s.io/component-base/featuregate/testing"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction"
	_ "k8s.io/kubernetes/test/utils/ktesting"

	_ "github.com/evictkit/evictkit/evictor/nodepressure/summary" // the port's
	"github.com/evictkit/evictkit/internal/port"
)

var upstream = port.Port{
	Of:   "k8s.io/kubernetes/pkg/kubelet/eviction",
	As:   "github.com/evictkit/evictkit/internal/conformance/ports/eviction/ported",
	With: []string{"testdata/adapter.go"},
}

// ended is the line of a test or a subtest that has ended.
var ended = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL): (\S+) \(`)

// TestItsOwnTestsPass builds the port, and plays upstream's tests on it. What fails is what testdata/left-out.txt has, no
// more and no less.
func TestItsOwnTestsPass(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("it builds the kubelet's packages: set EVICTKIT_FULL")
	}
	built, err := upstream.Build(t.TempDir())
	require.NoError(t, err)
	t.Logf("%v; gone are %v", built.Code, built.Gone)
	list, err := exec.Command(built.Program, "-test.list", "^Test").Output()
	require.NoError(t, err)
	tests := strings.Fields(string(list))
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	leftOut := leftOut(t)
	for _, through := range []string{"Machine", "Manager"} {
		play := exec.Command(built.Program, "-test.v", "-test.timeout", "10m")
		play.Env = append(os.Environ(), "THROUGH="+through)
		out, err := play.CombinedOutput()
		require.Error(t, err, "something is left out")
		passed, failed := leaves(string(out))
		require.Len(t, append(passed, top(failed)...), len(tests), "%s", out)
		require.Equal(t, leftOut, failed, "through a %s: write what fails, and nothing else, into testdata/left-out.txt\n%s", through, out)
		t.Logf("through a %s, %d of %d tests pass", through, len(passed), len(tests))
		require.Contains(t, string(page), fmt.Sprintf("%d of its %d tests pass", len(passed), len(tests)))
	}
}

// leaves returns the tests that passed, and the tests and subtests that failed, without those that failed only for their
// subtests.
func leaves(out string) (passed, failed []string) {
	var all []string
	for _, line := range ended.FindAllStringSubmatch(out, -1) {
		switch {
		case line[1] == "FAIL":
			all = append(all, line[2])
		case !strings.Contains(line[2], "/"):
			passed = append(passed, line[2])
		}
	}
	for _, name := range all {
		if !slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			failed = append(failed, name)
		}
	}
	slices.Sort(failed)
	return passed, failed
}

// top returns the tests that these are, or are subtests of.
func top(names []string) (tests []string) {
	for _, name := range names {
		name, _, _ = strings.Cut(name, "/")
		if !slices.Contains(tests, name) {
			tests = append(tests, name)
		}
	}
	return tests
}

// leftOut reads the list: a line is a test and the reason why it fails.
func leftOut(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/left-out.txt")
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, ": ")
		require.NotEmpty(t, reason, fmt.Sprintf("%s has no reason", name))
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
