package zone

// State is how disrupted a zone is: [Initial], [Normal], [PartialDisruption] or [FullDisruption]. The names and values
// are those of kube-controller-manager. The zero State is none of them.
type State string

// The states. What partial and full mean is up to the policy.
const (
	Initial           State = "Initial" // not evaluated yet, or its policy named no state
	Normal            State = "Normal"
	PartialDisruption State = "PartialDisruption"
	FullDisruption    State = "FullDisruption"
)

// Counts says how many members of a zone, or of all zones, count, and how many of those are not ready. Bad is at most
// Total. They travel together so that nobody mistakes one for the other.
type Counts struct {
	Total int `json:"total"`
	Bad   int `json:"bad"`
}

// Status is a copy of what is known about a zone: State and Rate as of the last Evaluate, Counts as of now.
type Status struct {
	Zone  Key   `json:"zone"`
	State State `json:"state"`
	// Rate is in members a second; 0 stops.
	Rate   float64 `json:"rate"`
	Counts Counts  `json:"counts"`
}

// Change is one zone whose State or Rate changed, or that is gone.
type Change struct {
	// Status is what holds from now on. Its Counts are those that this evaluation decided on.
	Status
	// From is the state until now: Initial at the zone's first evaluation. It equals State when only Rate changed.
	From State
	// AllDown: every zone with counted members is fully disrupted now. All changes of one evaluation say the same.
	AllDown bool
	// Gone: the zone has no members left, not even excluded ones, and the tracker has forgotten it. State is Initial
	// and Rate 0, as they would be if it came back.
	Gone bool
}
