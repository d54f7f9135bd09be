package fences

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Pages are read where lines wrap late and code does not wrap at all.
func TestPagesAreNoWiderThan120Columns(t *testing.T) {
	pages := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "doc.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for i, line := range strings.Split(string(text), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")), 120, "%s:%d", path, i+1)
		}
		return nil
	}))
	require.Greater(t, pages, 20)
}
