package scenariofile

import (
	"fmt"
	"iter"
	"strings"
)

// Hint asks whether a known name is meant that differs little from what was written: one letter may differ, or a quarter of
// them, and letters' case does not count. It is " (do you mean fail?)", or empty if no name is near. Of several that are as near
// it names the first by name.
func Hint(written string, known iter.Seq[string]) string {
	best, least := "", max(1, len(written)/4)+1
	for name := range known {
		if len(name)-len(written) > least || len(written)-len(name) > least {
			continue
		}
		if n := distance(strings.ToLower(written), strings.ToLower(name)); n < least || n == least && best != "" && name < best {
			best, least = name, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (do you mean %s?)", best)
}

// distance counts the letters that must be added, removed, replaced, or swapped with the next to make one text the other.
func distance(a, b string) int {
	var before []int // the row before last
	last := make([]int, len(b)+1)
	for k := range last {
		last[k] = k
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for k := range len(b) {
			change := last[k]
			if a[i] != b[k] {
				change++
			}
			row[k+1] = min(change, last[k+1]+1, row[k]+1)
			if i > 0 && k > 0 && a[i] == b[k-1] && a[i-1] == b[k] {
				row[k+1] = min(row[k+1], before[k-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
