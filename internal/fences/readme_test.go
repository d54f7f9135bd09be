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

// The comment before each block of Go or of output names a file that tests run. A block that is a whole program is all
// that its file has below its comment, other Go is in the file line by line, and output is what the file's example
// prints.
func TestReadmeShowsCodeThatRuns(t *testing.T) {
	page := pageText(t, "README.md")
	blocks := regexp.MustCompile("(?s)<!-- (\\S+) -->\n```(go|text)\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.Len(t, blocks, strings.Count(page, "```go")+strings.Count(page, "```text"), "each says where it stands")
	programs, outputs := 0, 0
	for _, block := range blocks {
		code, shown := lines(pageText(t, block[1])), lines(block[3])
		switch {
		case block[2] == "text":
			outputs++
			for i := range shown {
				shown[i] = "// " + shown[i]
			}
			shown = append(append([]string{"// Output:"}, shown...), "}")
		case strings.HasPrefix(block[3], "package "):
			programs++
			require.Equal(t, code[slices.Index(code, shown[0]):], shown, block[1])
		}
		require.True(t, standsIn(shown, code), "not in %s:\n%s", block[1], block[3])
	}
	require.NotZero(t, programs)
	require.NotZero(t, outputs)
}

// The first page is short, and its links lead somewhere.
func TestReadmeIsShortAndItsLinksLeadSomewhere(t *testing.T) {
	page := pageText(t, "README.md")
	require.LessOrEqual(t, strings.Count(page, "\n"), 130)
	found := regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]+))?\)`).FindAllStringSubmatch(page, -1)
	require.Greater(t, len(found), 20)
	for _, link := range found {
		if strings.HasPrefix(link[1], "https://") {
			continue
		}
		to := link[1]
		if to == "" {
			to = "README.md"
		}
		_, err := os.Stat(filepath.Join(root, to))
		require.NoError(t, err)
		if link[2] != "" {
			require.Contains(t, anchors(pageText(t, to)), link[2], to)
		}
	}
}

// anchors returns how links name the headings of a page.
func anchors(page string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(plain, " ", "-"))
	}
	return names
}

func pageText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
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
