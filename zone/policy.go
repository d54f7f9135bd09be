package zone

import (
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Policy decides what counts mean and how fast a zone may be evicted. It must be a pure function of
// its arguments: the tracker asks it under its lock, for every zone whenever anything changed.
type Policy interface {
	// State classifies a zone. It is asked for zones without counted members too.
	State(Counts) State
	// Rate is in nodes a second, 0 stops. It is not asked while every zone is down: then all rates
	// are 0.
	Rate(Situation) float64
}

// Situation is what a rate may depend on. Cluster counts all zones together, for policies that stop at
// a share of the whole.
type Situation struct {
	Zone    Key
	State   State
	Counts  Counts
	Cluster Counts
}

// DisruptionPolicy is upstream's policy with its parameters. The zero value never evicts and is not
// valid for want of a threshold; start from DefaultPolicy.
type DisruptionPolicy struct {
	// EvictionRate applies in states Initial, Normal and (unless FullDisruptionRate says otherwise)
	// FullDisruption, in nodes a second.
	EvictionRate float64 `json:"evictionRate"`
	// SecondaryEvictionRate applies in PartialDisruption when the zone counts more than
	// LargeZoneThreshold members; smaller zones stop.
	SecondaryEvictionRate float64 `json:"secondaryEvictionRate"`
	LargeZoneThreshold    int     `json:"largeZoneThreshold"`
	// UnhealthyThreshold in (0,1] is the share of bad members from which on, when there are more than
	// two, a zone is partially disrupted. It is compared as float32 on both sides, as upstream does, so
	// that 11 of 20 reaches 0.55.
	UnhealthyThreshold float64 `json:"unhealthyThreshold"`
	// FullDisruptionRate, when not nil, is the rate of a zone that is wholly down while another is not.
	FullDisruptionRate *float64 `json:"fullDisruptionRate,omitempty"`
}

// DefaultPolicy returns kube-controller-manager's defaults: 0.1, 0.01, 50, 0.55.
func DefaultPolicy() DisruptionPolicy {
	return DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 50, UnhealthyThreshold: 0.55}
}

// Validate reports every fault at once.
func (p DisruptionPolicy) Validate() error {
	var errs field.ErrorList
	rate := func(name string, r float64) {
		if math.IsNaN(r) || math.IsInf(r, 0) || r < 0 {
			errs = append(errs, field.Invalid(field.NewPath(name), r, "must be a finite number of at least 0"))
		}
	}
	rate("evictionRate", p.EvictionRate)
	rate("secondaryEvictionRate", p.SecondaryEvictionRate)
	if p.FullDisruptionRate != nil {
		rate("fullDisruptionRate", *p.FullDisruptionRate)
	}
	if p.LargeZoneThreshold < 0 {
		errs = append(errs, field.Invalid(field.NewPath("largeZoneThreshold"), p.LargeZoneThreshold, "must not be negative"))
	}
	if !(p.UnhealthyThreshold > 0 && p.UnhealthyThreshold <= 1) {
		errs = append(errs, field.Invalid(field.NewPath("unhealthyThreshold"), p.UnhealthyThreshold, "must lie in (0,1]"))
	}
	return errs.ToAggregate()
}

// State follows upstream's order: full, partial, normal. No members at all are Normal.
func (p DisruptionPolicy) State(c Counts) State {
	switch {
	case c.Total > 0 && c.Bad == c.Total:
		return FullDisruption
	case c.Bad > 2 && float32(c.Bad)/float32(c.Total) >= float32(p.UnhealthyThreshold):
		return PartialDisruption
	}
	return Normal
}

// Rate is the zone's rate by its state and size.
func (p DisruptionPolicy) Rate(s Situation) float64 {
	switch s.State {
	case PartialDisruption:
		if s.Counts.Total > p.LargeZoneThreshold {
			return p.SecondaryEvictionRate
		}
		return 0
	case FullDisruption:
		if p.FullDisruptionRate != nil {
			return *p.FullDisruptionRate
		}
	}
	return p.EvictionRate
}
