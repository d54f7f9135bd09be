package fences

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The comment before each block of Go or of output names a file that tests run. A block that is a whole program is all
// that its file has below its comment, other Go is in the file line by line, and output is what the file's example
// prints.
func TestPagesShowCodeThatRuns(t *testing.T) {
	for _, file := range []string{"README.md", "evictor/EXTENDING.md"} {
		showsCodeThatRuns(t, page(t, file))
	}
}

func showsCodeThatRuns(t *testing.T, readme string) {
	blocks := regexp.MustCompile("(?s)<!-- (\\S+) -->\n```(go|text)\n(.*?)```").FindAllStringSubmatch(readme, -1)
	require.Len(t, blocks, strings.Count(readme, "```go")+strings.Count(readme, "```text"), "before each block of go or text, name the file that has it: <!-- examples/why/main.go -->")
	for _, block := range blocks {
		code, shown := lines(page(t, block[1])), lines(block[3])
		if block[2] == "text" {
			for i := range shown {
				shown[i] = "// " + shown[i]
			}
			shown = append(append([]string{"// Output:"}, shown...), "}")
		} else if strings.HasPrefix(block[3], "package ") {
			require.Equal(t, code[slices.Index(code, shown[0]):], shown, block[1])
		}
		require.Contains(t, "\n"+strings.Join(code, "\n")+"\n", "\n"+strings.Join(shown, "\n")+"\n", "copy the block anew from %s", block[1])
	}
}

// What everybody reads is short, and fits a screen: tables break their lines themselves.
func TestPagesAreShort(t *testing.T) {
	for file, most := range map[string]int{"README.md": 160, "evictor/EXTENDING.md": 130} {
		require.LessOrEqual(t, strings.Count(page(t, file), "\n"), most, "%s has too many lines: move some to a page of its own", file)
		for _, line := range strings.Split(page(t, file), "\n") {
			if !strings.HasPrefix(line, "|") {
				require.LessOrEqual(t, utf8.RuneCountInString(line), 120, "%s: break this line: %s", file, line)
			}
		}
	}
}

// The links of these pages lead somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	for file, links := range map[string]int{"README.md": 20, "examples/README.md": 10, "evictor/WHY.md": 4, "evictor/EXTENDING.md": 6} {
		text := regexp.MustCompile("(?s)\n```.*?\n```").ReplaceAllString(page(t, file), "")
		found := regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]+))?\)`).FindAllStringSubmatch(text, -1)
		require.Greater(t, len(found), links, file)
		for _, link := range found {
			if strings.HasPrefix(link[1], "https://") {
				continue
			}
			to := path.Join(path.Dir(file), cmp.Or(link[1], path.Base(file)))
			_, err := os.Stat(filepath.Join(root, to))
			require.NoError(t, err, file)
			if link[2] != "" {
				require.Contains(t, anchors(page(t, to)), link[2], "%s: %s", file, to)
			}
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

// lines returns the non-empty lines without indentation.
func lines(text string) (list []string) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}
