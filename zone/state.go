package zone

import "fmt"

// State is how disrupted a zone is: [Initial], [Normal], [PartialDisruption] or [FullDisruption]. The zero State is not a
// valid one; it prints as State(0).
type State uint8

// The four states, named as in kube-controller-manager.
const (
	// Initial: the zone has not been evaluated yet, and its rate is 0.
	Initial State = iota + 1
	// Normal: few enough members are bad.
	Normal
	// PartialDisruption: at least the threshold's share of the members is bad, and more than two.
	PartialDisruption
	// FullDisruption: no member is good and at least one is bad.
	FullDisruption
)

var stateNames = [...]string{"", "Initial", "Normal", "PartialDisruption", "FullDisruption"}

// String returns the name of the constant.
func (s State) String() string {
	if s == 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// MarshalText writes the name; an invalid State is an error.
func (s State) MarshalText() ([]byte, error) {
	if s == 0 || int(s) >= len(stateNames) {
		return nil, fmt.Errorf("zone: %s is not a state", s)
	}
	return []byte(stateNames[s]), nil
}

// UnmarshalText reads what MarshalText wrote. An unknown name is an error and changes nothing.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range stateNames {
		if i > 0 && name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("zone: unknown state %q, want one of %v", text, stateNames[1:])
}

// Counts says how many members of a zone, or of all zones, count, and how many of those are not ready. Bad is at most
// Total. They travel together so that nobody mistakes one for the other.
type Counts struct {
	Total int `json:"total"`
	Bad   int `json:"bad"`
}

// Good returns how many of the counted members are ready.
func (c Counts) Good() int { return c.Total - c.Bad }
