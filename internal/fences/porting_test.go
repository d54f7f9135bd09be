package fences

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// PORTING.md names each test and its package.
func TestPortingChecksExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "internal", "PORTING.md"))
	require.NoError(t, err)
	named := 0
	for _, list := range regexp.MustCompile(`((?:[a-z]+, )*[a-z]+): ((?:Test\w+, )*Test\w+)`).FindAllStringSubmatch(string(page), -1) {
		for _, pkg := range regexp.MustCompile(`[a-z]+`).FindAllString(list[1], -1) {
			files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			require.NoError(t, err)
			var code []byte
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				code = append(code, text...)
			}
			for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(list[2], -1) {
				require.True(t, bytes.Contains(code, []byte("func "+name+"(")), "%s in %s", name, pkg)
				named++
			}
		}
	}
	require.Equal(t, len(regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(string(page), -1))+1, named, "each of them, and one in two packages")
}
