package zone

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Policy decides what counts mean and how fast a zone may be evicted. It must be a pure function of its
// arguments. A tracker asks it about every zone whenever any count changed, holding no lock that
// reading the tracker, Set or Remove need; only Evaluate and Restore must not be called from within.
type Policy interface {
	// State classifies a zone, also one without counted members. What is none of the constants is taken
	// as Initial.
	State(Counts) State
	// Rate is in nodes a second; 0 stops, and so does what is no finite number of at least 0. It is not
	// asked while every zone is down: then all rates are 0.
	Rate(Situation) float64
}

// Situation is what a rate may depend on.
type Situation struct {
	Zone  Key
	State State // what the policy's State said of Counts
	// Counts are the zone's; Total is 0 when all its members are excluded.
	Counts Counts
	// Cluster counts all zones together, for policies that stop at a share of the whole.
	Cluster Counts
}

// DisruptionPolicy is kube-controller-manager's policy with its parameters. The zero value is not valid,
// for want of a threshold; start from DefaultPolicy. It is a value and safe to share.
type DisruptionPolicy struct {
	// EvictionRate applies in states Initial and Normal, and in FullDisruption unless
	// FullDisruptionRate is given; in nodes a second, 0 stops. Upstream's --node-eviction-rate.
	EvictionRate float64 `json:"evictionRate"`
	// SecondaryEvictionRate applies in PartialDisruption to zones that count more than
	// LargeZoneThreshold members; the others stop. Upstream's --secondary-node-eviction-rate.
	SecondaryEvictionRate float64 `json:"secondaryEvictionRate"`
	// LargeZoneThreshold is the size from which on a zone is still small: it must be exceeded. It is
	// compared with one zone, as upstream does in spite of the name --large-cluster-size-threshold.
	LargeZoneThreshold int `json:"largeZoneThreshold"`
	// UnhealthyThreshold in (0,1] is the share of bad members from which on, when there are more than
	// two of them, a zone is partially disrupted. It is compared as float32 on both sides, as upstream
	// does, so that 11 of 20 reaches 0.55. Upstream's --unhealthy-zone-threshold.
	UnhealthyThreshold float64 `json:"unhealthyThreshold"`
	// FullDisruptionRate, when not nil, is the rate of a zone that is wholly down while another is not.
	// Upstream has no such parameter and evicts at EvictionRate.
	FullDisruptionRate *float64 `json:"fullDisruptionRate,omitempty"`
}

// DefaultPolicy returns kube-controller-manager's defaults: 0.1 nodes a second, 0.01 in partial
// disruption of zones of more than 50, partial from 55 % on.
func DefaultPolicy() DisruptionPolicy {
	return DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 50, UnhealthyThreshold: 0.55}
}

// Validate returns every fault at once: rates that are negative or not finite, a negative size, a
// threshold outside (0,1].
func (p DisruptionPolicy) Validate() error {
	var errs field.ErrorList
	rate := func(name string, r float64) {
		if !validRate(r) {
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
	if !(p.UnhealthyThreshold > 0 && p.UnhealthyThreshold <= 1) { // NaN too
		errs = append(errs, field.Invalid(field.NewPath("unhealthyThreshold"), p.UnhealthyThreshold, "must lie in (0,1]"))
	}
	return errs.ToAggregate()
}

// State is FullDisruption when some are bad and none is good, PartialDisruption when more than two are
// bad and they reach UnhealthyThreshold, else Normal, also without any member. It mirrors upstream's
// ComputeZoneState.
func (p DisruptionPolicy) State(c Counts) State { return p.state(c) }

func (p *DisruptionPolicy) state(c Counts) State {
	switch {
	case c.Total > 0 && c.Bad == c.Total:
		return FullDisruption
	case c.Bad > 2 && float32(c.Bad)/float32(c.Total) >= float32(p.UnhealthyThreshold):
		return PartialDisruption
	}
	return Normal
}

// Rate is the zone's rate by its state and size, in nodes a second.
func (p DisruptionPolicy) Rate(s Situation) float64 { return p.rate(s.State, s.Counts.Total) }

func (p *DisruptionPolicy) rate(s State, size int) float64 {
	switch {
	case s == PartialDisruption && size > p.LargeZoneThreshold:
		return p.SecondaryEvictionRate
	case s == PartialDisruption:
		return 0
	case s == FullDisruption && p.FullDisruptionRate != nil:
		return *p.FullDisruptionRate
	}
	return p.EvictionRate
}
