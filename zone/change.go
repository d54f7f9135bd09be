package zone

import "fmt"

// Transition says whether an evaluation [Entered] or [Left] the state in which every zone is down, or did neither ([None]).
type Transition uint8

// The transitions. The zero value is None.
const (
	// None: nothing about the cluster as a whole changed.
	None Transition = iota
	// Entered: every zone with a counted member is fully disrupted now, and was not before.
	Entered
	// Left: some zone is no longer fully disrupted, or no counted member is left.
	Left
)

var transitionNames = [...]string{"None", "Entered", "Left"}

// String returns the name of the constant.
func (t Transition) String() string {
	if int(t) >= len(transitionNames) {
		return fmt.Sprintf("Transition(%d)", uint8(t))
	}
	return transitionNames[t]
}

// transitionTo compares two answers to "is every zone down?".
func transitionTo(was, is bool) Transition {
	switch {
	case is && !was:
		return Entered
	case was && !is:
		return Left
	}
	return None
}

// Change is one domain whose State or rate changed, or that is gone. When the cluster enters or
// leaves the state in which every zone is down, every domain has a Change that says so in Cluster.
type Change[D comparable] struct {
	Zone D
	// From is Initial for a domain that is evaluated for the first time. To equals From when only Rate changed.
	From, To State
	// Rate is the rate from now on, in members a second; 0 stops. Before its first evaluation a domain has rate 0.
	Rate float64
	// Counts are the counts that this evaluation decided on.
	Counts  Counts
	Cluster Transition
	// Gone: the domain has no members left, not even excluded ones, and the tracker has forgotten it. To and Rate are
	// Initial and 0, as they would be if it came back.
	Gone bool
}

func changeOf[D comparable](key D, before, after standing, counts Counts, cluster Transition, gone bool) Change[D] {
	return Change[D]{
		Zone: key, From: before.state, To: after.state, Rate: after.rate, Counts: counts, Cluster: cluster, Gone: gone,
	}
}
