package timeline

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Fields are additional fields of a line, by name: texts, lists of texts, whole numbers, numbers, durations (in seconds) and
// booleans. Empty texts and lists are left out.
type Fields map[string]any

// String returns the text for Line.More: each field after a comma, in the order of the names.
func (f Fields) String() string {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if of, ok := f[name].(string); ok && of == "" {
			continue
		}
		if of, ok := f[name].([]string); ok && len(of) == 0 {
			continue
		}
		text = append(appendString(append(text, ','), name), ':')
		switch value := f[name].(type) {
		case string:
			text = appendString(text, value)
		case []string:
			for i, one := range value {
				text = appendString(append(text, "[,"[min(i, 1)]), one)
			}
			text = append(text, ']')
		case int:
			text = strconv.AppendInt(text, int64(value), 10)
		case float64:
			text = strconv.AppendFloat(text, value, 'f', -1, 64)
		case time.Duration:
			text = appendDecimal(text, value.Seconds())
		case bool:
			text = strconv.AppendBool(text, value)
		}
	}
	return string(text)
}
