package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Parse reads one line of a timeline, as AppendJSON writes it; spaces and another order of fields are accepted. t
// is read to the millisecond. It is an error if a field of the kind is missing or of the wrong type. Unknown fields, or
// all fields of an unknown kind, are in More.
func Parse(text []byte) (Line, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return Line{}, err
	}
	var l Line
	var seconds float64
	if err := take(raw, "t", &seconds); err != nil {
		return Line{}, err
	}
	if seconds < 0 || seconds > math.MaxInt64/1e9-1 {
		return Line{}, fmt.Errorf("t: %v is not a time", seconds)
	}
	l.T = time.Duration(math.Round(seconds*1e3)) * time.Millisecond
	if err := take(raw, "kind", (*string)(&l.Kind)); err != nil {
		return Line{}, err
	}
	for _, name := range fieldsOf[l.Kind] {
		if err := take(raw, name, fieldOf[name](&l)); err != nil {
			return Line{}, err
		}
	}
	more := []byte{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		more = append(appendString(append(more, ','), name), ':')
		var value bytes.Buffer
		if err := json.Compact(&value, raw[name]); err != nil {
			return Line{}, err
		}
		more = append(more, value.Bytes()...)
	}
	l.More = string(more)
	return l, nil
}

// take decodes one field and removes it from raw.
func take(raw map[string]json.RawMessage, name string, into any) error {
	value, ok := raw[name]
	if !ok || string(value) == "null" {
		return errors.New(name + " is missing")
	}
	delete(raw, name)
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
