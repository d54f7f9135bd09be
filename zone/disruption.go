package zone

import "k8s.io/apimachinery/pkg/util/validation/field"

// DisruptionPolicy is kube-controller-manager's policy with its parameters. It looks only at the zone's own counts.
// The zero value is not valid because it has no threshold; start from DefaultPolicy. It is a plain value and safe to share.
type DisruptionPolicy struct {
	// EvictionRate applies in Normal, and in FullDisruption while another zone is not fully disrupted. It is in members
	// a second; 0 stops. kube-controller-manager's flag is --node-eviction-rate.
	EvictionRate float64 `json:"evictionRate"`
	// SecondaryEvictionRate applies in PartialDisruption to zones with more than LargeZoneThreshold counted members; the
	// rate of other zones is 0 then. kube-controller-manager's flag is --secondary-node-eviction-rate.
	SecondaryEvictionRate float64 `json:"secondaryEvictionRate"`
	// LargeZoneThreshold is the largest size of a small zone. It limits the size of one zone, not of the cluster, as in
	// kube-controller-manager, in spite of its flag's name, --large-cluster-size-threshold.
	LargeZoneThreshold int `json:"largeZoneThreshold"`
	// UnhealthyThreshold, in (0,1], is the share of bad members at which a zone with more than two bad members is
	// partially disrupted. kube-controller-manager's flag is --unhealthy-zone-threshold. As there, both sides are float32
	// when they are compared.
	UnhealthyThreshold float64 `json:"unhealthyThreshold"`
}

// DefaultPolicy returns kube-controller-manager's defaults. The table in the package comment has them.
func DefaultPolicy() DisruptionPolicy {
	return DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 50, UnhealthyThreshold: 0.55}
}

// Validate reports every fault at once: a rate that is negative or not finite; a negative size; a threshold outside
// (0,1].
func (p DisruptionPolicy) Validate() error {
	var errs field.ErrorList
	rate := func(name string, r float64) {
		if !validRate(r) {
			errs = append(errs, field.Invalid(field.NewPath(name), r, "must be a finite number of at least 0"))
		}
	}
	rate("evictionRate", p.EvictionRate)
	rate("secondaryEvictionRate", p.SecondaryEvictionRate)
	if p.LargeZoneThreshold < 0 {
		errs = append(errs, field.Invalid(field.NewPath("largeZoneThreshold"), p.LargeZoneThreshold, "must not be negative"))
	}
	if !(p.UnhealthyThreshold > 0 && p.UnhealthyThreshold <= 1) { // NaN too
		errs = append(errs, field.Invalid(field.NewPath("unhealthyThreshold"), p.UnhealthyThreshold, "must lie in (0,1]"))
	}
	return errs.ToAggregate()
}

// Decide looks at the zone's Counts, as the table in the package comment says.
func (p DisruptionPolicy) Decide(s Situation) Ruling {
	switch c := s.Counts; {
	case c.Total > 0 && c.Bad == c.Total:
		return Ruling{State: FullDisruption, Rate: p.EvictionRate}
	case c.Bad <= 2 || float32(c.Bad)/float32(c.Total) < float32(p.UnhealthyThreshold):
		return Ruling{State: Normal, Rate: p.EvictionRate}
	case c.Total > p.LargeZoneThreshold:
		return Ruling{State: PartialDisruption, Rate: p.SecondaryEvictionRate}
	}
	return Ruling{State: PartialDisruption}
}
