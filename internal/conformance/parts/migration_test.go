package parts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A migration table says what replaces each of upstream's names. Its rows are read from the package's doc.go. Each row
// has a story here, which is played on upstream's machine and on ours. So a row without a story, a story without a row,
// and a wrong row all fail.

// stories are those of a table, by the left cell of their row.
type stories map[string]func(*testing.T)

func (s stories) play(t *testing.T, pkg, heading string) {
	rows := tableRows(t, pkg, heading)
	for _, row := range rows[1:] { // without the header
		story := s[row]
		require.NotNil(t, story, "the row %q has no story", row)
		t.Run(row, story)
		delete(s, row)
	}
	require.Empty(t, s, "stories without a row")
}

// tableRows returns the left cells of the table after a heading in the package's documentation.
func tableRows(t *testing.T, pkg, heading string) (rows []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", pkg, "doc.go"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "// # "+heading+"\n")
	require.True(t, found, heading)
	after, _, _ = strings.Cut(after, "\n// # ")
	for _, line := range strings.Split(after, "\n") {
		cells, isRow := strings.CutPrefix(line, "//\t")
		if isRow && !strings.HasPrefix(cells, " ") { // otherwise it continues the previous line
			rows = append(rows, columns.Split(cells, 2)[0])
		}
	}
	require.Greater(t, len(rows), 1, "no table after %q", heading)
	return rows
}

var columns = regexp.MustCompile(` {2,}`)

// diary is what happened on one side, each with the time since the start.
type diary struct {
	*testing.T
	begun time.Time
	lines []string
}

func newDiary(t *testing.T) *diary { return &diary{T: t, begun: time.Now()} }

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%s %s", d.since(time.Now()), fmt.Sprintf(format, args...)))
}

// since leaves out the nanosecond by which upstream delays retries.
func (d *diary) since(at time.Time) time.Duration { return at.Sub(d.begun).Truncate(time.Microsecond) }

// pass lets time pass on the bubble's clock, which both sides read, and lets everything due happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inBubble returns the diary of a story.
func inBubble(t *testing.T, story func(*diary)) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		story(d)
		lines = d.lines
	})
	return lines
}
