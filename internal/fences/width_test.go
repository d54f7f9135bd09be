package fences

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Documentation is often shown where long lines wrap late, and code does not wrap at all. Bytes are counted, as some
// viewers do.
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
			require.LessOrEqual(t, len(strings.ReplaceAll(line, "\t", "    ")), 120, "%s:%d", path, i+1)
		}
		return nil
	}))
	require.Greater(t, pages, 20)
}
