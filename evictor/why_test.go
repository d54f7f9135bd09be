package evictor_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePageHasEveryReason: WHY.md has each reason of the code, and no other. The code writes reasons in camel case, and little
// else.
func TestThePageHasEveryReason(t *testing.T) {
	want := map[string]bool{"writes": true, "harm": true} // of GateChanged
	for _, dir := range []string{"nodelifecycle", "tainteviction", "gate", "together", "internal/environment", "internal/seen"} {
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "decision.go" { // which has the names of the kinds
				continue
			}
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			code = regexp.MustCompile(`Do += "\w+"`).ReplaceAll(code, nil) // names of acts
			for _, word := range regexp.MustCompile(`"([A-Z][A-Za-z]+)"`).FindAllStringSubmatch(string(code), -1) {
				want[word[1]] = true
			}
		}
	}
	for _, internal := range []string{"NotDue", "NotShown", "Overdue"} { // no decision gives them
		require.True(t, want[internal], internal)
		delete(want, internal)
	}
	page, err := os.ReadFile("WHY.md")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, reason := range regexp.MustCompile(`\*(\w+)\*`).FindAllStringSubmatch(string(page), -1) {
		found[reason[1]] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(found)))
}
