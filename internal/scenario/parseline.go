package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ParseLine reads one line of a timeline, as AppendJSON writes it; spaces and another order of fields
// pass. t is read to the millisecond. It is an error when the kind is unknown, or a field of the kind is
// missing, is of another type, or does not belong to it.
func ParseLine(text []byte) (Line, error) {
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
	names := l.Kind.fields()
	if names == nil {
		return Line{}, fmt.Errorf("kind %q is unknown", l.Kind)
	}
	for _, name := range names {
		if err := take(raw, name, l.field(name)); err != nil {
			return Line{}, err
		}
	}
	if len(raw) > 0 {
		var rest []string
		for name := range raw {
			rest = append(rest, name)
		}
		return Line{}, fmt.Errorf("%q does not belong to kind %s", slices.Min(rest), l.Kind)
	}
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
