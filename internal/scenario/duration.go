package scenario

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that decodes from text as time.ParseDuration reads it: 90s, 1m30s, 0. Negative ones
// decode too; Check reports them with their place.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s, 1m30s or 0", text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String formats the duration as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// Value returns the duration, 0 for nil.
func (d *Duration) Value() time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d)
}
