package scenariofile

import "strings"

// Values splits Value at its commas, as a list of settings to try. Commas within quotes or within brackets of any kind do not
// split. Quotes that are not closed, and brackets that are not, reach to the end.
func (s Set) Values() (values []string) {
	from, depth := 0, 0
	var quote byte
	begins := true // a quote has its meaning only where a value begins
	for i := 0; i < len(s.Value); i++ {
		c := s.Value[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case begins && (c == '"' || c == '\''):
			quote = c
		case strings.IndexByte("[{(", c) >= 0:
			depth++
		case strings.IndexByte("]})", c) >= 0:
			depth = max(0, depth-1)
		case c == ',' && depth == 0:
			values = append(values, strings.TrimSpace(s.Value[from:i]))
			from = i + 1
		}
		begins = strings.IndexByte("[{,:", c) >= 0 || begins && c == ' '
	}
	return append(values, strings.TrimSpace(s.Value[from:]))
}
