package evictor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every row of DIFFERENCES.md says what differs and why, and names existing tests and their package.
func TestTableOfDifferencesNamesItsTests(t *testing.T) {
	page, err := os.ReadFile("../DIFFERENCES.md")
	require.NoError(t, err)
	packages := map[string]string{"": "", "nodepressure": "nodepressure", "clientgo": "clientgo", "guard": "budget/guard", "maintenance": "maintenance", "together": "together", "simulation": "simulation", "summary": "nodepressure/summary", "scheduler": "compat/scheduler", "tainteviction": "compat/tainteviction", "v126": "compat/v126/scheduler", "placement": "../internal/conformance/placement", "differential": "../internal/conformance/differential"}
	for _, name := range []string{"karpenter", "clusterapi"} {
		packages[name] = "../internal/conformance/peers/" + name
	}
	for _, name := range []string{"zone", "health", "ratelimitqueue", "timedworker", "taints"} {
		packages[name] = "../" + name
	}
	code := map[string]string{}
	for name, dir := range packages {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			code[name] += string(text)
		}
	}
	rows, named := 0, regexp.MustCompile("^`(?:([a-z0-9]+): )?(Test[A-Z]\\w+)`$")
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "| what" || cells[0] == "| ---" {
			continue
		}
		rows++
		require.Len(t, cells, 3, line)
		require.Greater(t, len(cells[0]), len("| "), line)
		require.NotEmpty(t, cells[1], line)
		for _, test := range strings.Split(strings.TrimSuffix(cells[2], " |"), ", ") {
			name := named.FindStringSubmatch(test)
			require.NotNil(t, name, "%s: %s", line, test)
			require.Contains(t, code[name[1]], "func "+name[2]+"(", test)
		}
	}
	require.Greater(t, rows, 85)
}
