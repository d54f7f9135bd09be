package evictor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every row of the table of differences names tests that exist.
func TestTableOfDifferencesNamesItsTests(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var code []byte
	for _, pattern := range []string{"*_test.go", "../zone/*_test.go", "../health/*_test.go", "../ratelimitqueue/*_test.go", "../timedworker/*_test.go", "../taints/*_test.go", "nodepressure/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			code = append(code, text...)
		}
	}
	names := regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(string(page), -1)
	require.Greater(t, len(names), 15)
	for _, name := range names {
		require.Contains(t, string(code), "func "+name+"(", name)
	}
}
