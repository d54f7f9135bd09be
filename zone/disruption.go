package zone

import "k8s.io/apimachinery/pkg/util/validation/field"

// DisruptionPolicy is kube-controller-manager's policy with its parameters. It looks at nothing but the
// domain's own counts, lets what is pending go on, and never asks to be woken. The zero value is not valid,
// for want of a threshold; start from DefaultPolicy. It is a value and safe to share.
type DisruptionPolicy struct {
	// EvictionRate applies in Normal, and in FullDisruption unless FullDisruptionRate is given; in members
	// a second, 0 stops. The flag --node-eviction-rate of kube-controller-manager.
	EvictionRate float64 `json:"evictionRate"`
	// SecondaryEvictionRate applies in PartialDisruption to zones that count more than
	// LargeZoneThreshold members; the others stop. The flag --secondary-node-eviction-rate.
	SecondaryEvictionRate float64 `json:"secondaryEvictionRate"`
	// LargeZoneThreshold is the size up to which a zone counts as small. It is compared with one zone, as
	// kube-controller-manager does in spite of its flag's name, --large-cluster-size-threshold.
	LargeZoneThreshold int `json:"largeZoneThreshold"`
	// UnhealthyThreshold in (0,1] is the share of bad members from which on, when there are more than
	// two of them, a zone is partially disrupted. The flag --unhealthy-zone-threshold. It is compared as float32 on
	// both sides, as kube-controller-manager does, so that 11 of 20 reaches 0.55.
	UnhealthyThreshold float64 `json:"unhealthyThreshold"`
	// FullDisruptionRate, when not nil, is the rate of a zone that is wholly down while another is not.
	// kube-controller-manager has no such parameter and evicts at EvictionRate.
	FullDisruptionRate *float64 `json:"fullDisruptionRate,omitempty"`
}

// DefaultPolicy returns kube-controller-manager's defaults: 0.1 members a second, 0.01 in partial
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

// Decide looks at the domain's Counts only. The state is FullDisruption when some are bad and none is good,
// PartialDisruption when more than two are bad and they reach UnhealthyThreshold, else Normal, also without any
// member. The rate follows from state and size. What is pending goes on.
func (p DisruptionPolicy) Decide(s Situation) Ruling {
	state := p.state(s.Counts)
	return Ruling{State: state, Rate: p.rate(state, s.Counts.Total)}
}

func (p *DisruptionPolicy) state(c Counts) State {
	switch {
	case c.Total > 0 && c.Bad == c.Total:
		return FullDisruption
	case c.Bad > 2 && float32(c.Bad)/float32(c.Total) >= float32(p.UnhealthyThreshold):
		return PartialDisruption
	}
	return Normal
}

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
