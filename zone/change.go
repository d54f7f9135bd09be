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

// transitionTo is from one answer to "is every zone down?" to the next.
func transitionTo(was, is bool) Transition {
	switch {
	case is && !was:
		return Entered
	case was && !is:
		return Left
	}
	return None
}

// Change is one domain whose state, rate or pending changed, or that is gone. When the cluster as a whole
// entered or left the state in which every zone is down, every domain has a Change, and all of them say so in
// Cluster.
type Change[D comparable] struct {
	Zone D
	// From is Initial for a domain that is evaluated for the first time. To equals From when only the
	// rate or pending changed.
	From, To State
	// Rate is what it is now, in members a second; 0 stops. A domain that was not evaluated before had the rate 0.
	Rate float64
	// Pending is what becomes now of evictions that were decided before: Cancel while every domain is down, else what
	// the policy says. A domain that was not evaluated before had GoOn.
	Pending Pending
	// Counts are those that decided.
	Counts  Counts
	Cluster Transition
	// Gone: the domain has no member any more, not even an excluded one, and is forgotten. To, Rate and
	// Pending are Initial, 0 and GoOn, which is where it would begin if it came back.
	Gone bool
}

func changeOf[D comparable](key D, before, after standing, counts Counts, cluster Transition, gone bool) Change[D] {
	return Change[D]{
		Zone: key, From: before.state, To: after.state, Rate: after.rate, Pending: after.pending,
		Counts: counts, Cluster: cluster, Gone: gone,
	}
}
