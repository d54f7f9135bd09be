package zone

import "fmt"

// Transition says whether an evaluation entered or left the state in which every zone is down.
type Transition uint8

// The transitions. The zero value is None.
const (
	// None: nothing about the cluster as a whole changed.
	None Transition = iota
	// Entered: every zone with a counted member is fully disrupted now, and was not before.
	Entered
	// Left: some zone is not fully disrupted any more, or no counted member is left.
	Left
)

var transitionNames = [...]string{"None", "Entered", "Left"}

// String is the name of the constant.
func (t Transition) String() string {
	if int(t) >= len(transitionNames) {
		return fmt.Sprintf("Transition(%d)", uint8(t))
	}
	return transitionNames[t]
}

// MarshalText writes the name; what is not one of the constants is an error.
func (t Transition) MarshalText() ([]byte, error) {
	if int(t) >= len(transitionNames) {
		return nil, fmt.Errorf("zone: %s is not a transition", t)
	}
	return []byte(transitionNames[t]), nil
}

// UnmarshalText reads what MarshalText wrote. An unknown name is an error and changes nothing.
func (t *Transition) UnmarshalText(text []byte) error {
	for i, name := range transitionNames {
		if name == string(text) {
			*t = Transition(i)
			return nil
		}
	}
	return fmt.Errorf("zone: unknown transition %q", text)
}

// Change is one zone whose state or rate changed, or that is gone. When the cluster as a whole entered
// or left the state in which every zone is down, every zone has a Change, and all of them say so in
// Cluster. It encodes to JSON.
type Change struct {
	Zone Key `json:"zone"`
	// From is Initial for a zone that is evaluated for the first time. To equals From when only the
	// rate changed.
	From State `json:"from"`
	To   State `json:"to"`
	// PreviousRate and Rate are in nodes a second; 0 stops. A zone that was not evaluated before had
	// the rate 0.
	PreviousRate float64 `json:"previousRate"`
	Rate         float64 `json:"rate"`
	// Counts are those that decided.
	Counts  Counts     `json:"counts"`
	Cluster Transition `json:"cluster"`
	// Gone: the zone has no member any more, not even an excluded one, and is forgotten. To is Initial
	// and Rate is 0, which is where it would begin if it came back.
	Gone bool `json:"gone,omitempty"`
}
