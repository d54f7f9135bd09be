package suites

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exception is a row of exceptions.md.
type exception struct {
	suite string
	what  string // "fails", "left out", or "changed: " and what
	tests []string
}

func (e exception) change() string {
	change, _ := strings.CutPrefix(e.what, "changed: ")
	return change
}

// suites are the names of all.
var suites = []string{
	"integration, evictions", "integration, ports", "integration, stack",
	"end to end, eviction API", "end to end, halves", "end to end, whole",
	"units, corev1", "units, queue", "units, tainteviction", "units, taints", "units, tolerations", "units, topology",
}

// TestPages: the tables are of these suites, and the README has the sum.
func TestPages(t *testing.T) {
	sum, named := 0, []string{}
	for _, cells := range rows(t, 2) {
		passes, err := strconv.Atoi(cells[1])
		require.NoError(t, err)
		sum += passes
		named = append(named, cells[0])
	}
	require.Equal(t, suites, named)
	for _, cells := range rows(t, 4) {
		require.Contains(t, suites, cells[0])
		require.Regexp(t, "^(fails|left out|changed: (settings|threshold|leases))$", cells[1])
	}
	page, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("%d tests and subtests", sum))
}

// rows returns the cells of the tables in exceptions.md, by the number of their columns.
func rows(t *testing.T, columns int) (found [][]string) {
	t.Helper()
	text, err := os.ReadFile("exceptions.md")
	require.NoError(t, err)
	for _, line := range strings.Split(string(text), "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); strings.HasPrefix(line, "| ") && len(cells) == columns {
			found = append(found, cells)
		}
	}
	require.Greater(t, len(found), 2)
	return found[2:] // without the head
}

func exceptions(t *testing.T, suite string) (of []exception) {
	t.Helper()
	for _, cells := range rows(t, 4) {
		require.NotEmpty(t, cells[3], "%s of %s has a reason", cells[2], cells[0])
		if cells[0] == suite {
			of = append(of, exception{cells[0], cells[1], strings.Split(strings.ReplaceAll(cells[2], "`", ""), ", ")})
		}
	}
	return of
}

// changesOf returns the changes of a suite.
func changesOf(t *testing.T, suite string) []exception {
	t.Helper()
	return slices.DeleteFunc(exceptions(t, suite), func(e exception) bool { return !strings.HasPrefix(e.what, "changed: ") })
}

// listed returns the tests that exceptions.md lists so.
func listed(t *testing.T, suite, what string) []string {
	t.Helper()
	var tests []string
	for _, e := range exceptions(t, suite) {
		if e.what == what {
			tests = append(tests, e.tests...)
		}
	}
	slices.Sort(tests)
	return tests
}

// unlisted returns the tests that fail and should not.
func (r results) unlisted(t *testing.T, suite string) []string {
	t.Helper()
	fails := listed(t, suite, "fails")
	return slices.DeleteFunc(r.with("FAIL"), func(test string) bool { return slices.Contains(fails, test) })
}

// judge fails unless exactly the tests that exceptions.md lists fail, and as many others pass as it says.
func judge(t *testing.T, suite string, found results, out string) {
	t.Helper()
	fails := listed(t, suite, "fails")
	if failed := found.with("FAIL"); !slices.Equal(fails, failed) {
		t.Errorf("these fail: %q\nexceptions.md lists: %q\n%s", failed, fails, out)
	}
	assert.Empty(t, found.with("SKIP"))
	assert.Contains(t, rows(t, 2), []string{suite, fmt.Sprint(len(found.with("PASS")))}, "what passes")
}
