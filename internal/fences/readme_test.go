package fences

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The comment before each block of Go names a file of a program or of examples that tests run, and the block is in that
// file, line by line.
func TestReadmeShowsCodeThatRuns(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)<!-- (\\S+) -->\n```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, strings.Count(string(page), "```go"), "each says where it stands")
	require.GreaterOrEqual(t, len(blocks), 6)
	for _, block := range blocks {
		code, err := os.ReadFile(filepath.Join(root, block[1]))
		require.NoError(t, err)
		require.True(t, standsIn(lines(block[2]), lines(string(code))), "not in %s:\n%s", block[1], block[2])
	}
}

// lines returns the non-empty lines without indentation.
func lines(text string) (list []string) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func standsIn(some, all []string) bool {
	for i := range all {
		if i+len(some) <= len(all) && slices.Equal(all[i:i+len(some)], some) {
			return true
		}
	}
	return false
}

func TestStandsIn(t *testing.T) {
	all := lines("a\n\n\tb\n c\n")
	require.True(t, standsIn(lines("b\nc"), all))
	require.False(t, standsIn(lines("a\nc"), all))
	require.False(t, standsIn(lines("c\nd"), all))
}
