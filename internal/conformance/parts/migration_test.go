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

// A migration table says what stands here for each of upstream's names. Its rows are read from the doc.go of the
// package, and for each there is a story, which is played on upstream's and on ours as the row puts it. So a row
// without a story fails, a story without a row, and a row that says something untrue.

// stories are those of a table, by what stands on the left of their row.
type stories map[string]func(*testing.T)

func (s stories) play(t *testing.T, pkg, heading string) {
	rows := tableRows(t, pkg, heading)
	for _, row := range rows[1:] { // the first is the header
		story := s[row]
		require.NotNil(t, story, "the row %q has no story", row)
		t.Run(row, story)
		delete(s, row)
	}
	require.Empty(t, s, "stories without a row")
}

// tableRows are the left sides of the table that follows the heading in the package's documentation.
func tableRows(t *testing.T, pkg, heading string) (rows []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", pkg, "doc.go"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "// # "+heading+"\n")
	require.True(t, found, heading)
	after, _, _ = strings.Cut(after, "\n// # ")
	for _, line := range strings.Split(after, "\n") {
		cells, isRow := strings.CutPrefix(line, "//\t")
		if isRow && !strings.HasPrefix(cells, " ") { // or it goes on from the line before
			rows = append(rows, columns.Split(cells, 2)[0])
		}
	}
	require.Greater(t, len(rows), 1, "no table after %q", heading)
	return rows
}

var columns = regexp.MustCompile(` {2,}`)

// diary is what happened on one side, with the time since its beginning.
type diary struct {
	*testing.T
	begun time.Time
	lines []string
}

func newDiary(t *testing.T) *diary { return &diary{T: t, begun: time.Now()} }

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%s %s", d.since(time.Now()), fmt.Sprintf(format, args...)))
}

// since leaves out the nanosecond by which upstream puts off what is tried again.
func (d *diary) since(at time.Time) time.Duration { return at.Sub(d.begun).Truncate(time.Microsecond) }

// pass lets time go by on the bubble's clock, which is what both sides read, and lets everything happen that is due.
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
