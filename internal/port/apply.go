package port

import (
	"fmt"
	"strings"
)

// Lines counts the lines that a port removes and adds.
type Lines struct{ Removed, Added int }

func (l Lines) String() string { return fmt.Sprintf("%d lines removed, %d added", l.Removed, l.Added) }

// Apply applies a port to a text.
func Apply(text, port string) (string, Lines, error) {
	old, at := strings.SplitAfter(text, "\n"), 0
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	var out strings.Builder
	var lines Lines
	for n, line := range strings.Split(strings.TrimSuffix(port, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "+"):
			out.WriteString(line[1:] + "\n")
			lines.Added++
		default:
			first, last, ok := span(line)
			if !ok || first < at || last > len(old) {
				return "", Lines{}, fmt.Errorf("line %d is none of a port, of text that ends with line %d, after %d: %s", n+1, len(old), at, line)
			}
			out.WriteString(strings.Join(old[at:first], ""))
			lines.Removed += last - first
			at = last
		}
	}
	out.WriteString(strings.Join(old[at:], ""))
	return out.String(), lines, nil
}

// span returns the lines to remove, as slice indices: 2 and 5 for "@3-5", and 3 and 3 (none) for "@3+".
func span(line string) (first, last int, ok bool) {
	if _, err := fmt.Sscanf(line, "@%d-%d", &first, &last); err == nil {
		return first - 1, last, first <= last && line == fmt.Sprintf("@%d-%d", first, last)
	}
	_, err := fmt.Sscanf(line, "@%d+", &first)
	return first, first, err == nil && line == fmt.Sprintf("@%d+", first)
}
