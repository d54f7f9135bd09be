package zone

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Snapshot is all that a tracker knows but its policy, as plain data. It encodes to JSON as far as K
// does.
type Snapshot[K comparable] struct {
	AllDown bool `json:"allDown"`
	// Zones are in the order of their keys.
	Zones []ZoneSnapshot[K] `json:"zones"`
}

// ZoneSnapshot is one zone with its members. State and Rate are those of the last Evaluate; counts are
// not kept, they follow from the members.
type ZoneSnapshot[K comparable] struct {
	Zone  Key     `json:"zone"`
	State State   `json:"state"`
	Rate  float64 `json:"rate"`
	// Members are in the order in which their keys were first Set.
	Members []MemberSnapshot[K] `json:"members"`
}

// MemberSnapshot is one member.
type MemberSnapshot[K comparable] struct {
	Key    K      `json:"key"`
	Member Member `json:"member"`
}

// Snapshot returns a copy of everything, of one instant. The same calls in the same order give the same
// snapshot. It costs O(n log n), most of it not under the lock.
func (t *Tracker[K]) Snapshot() Snapshot[K] {
	type member struct {
		zone     *ZoneSnapshot[K]
		sequence uint64
		MemberSnapshot[K]
	}
	t.mu.Lock()
	s := Snapshot[K]{AllDown: t.allDown, Zones: make([]ZoneSnapshot[K], len(t.order))}
	of := make(map[*domain]*ZoneSnapshot[K], len(t.order))
	for i, d := range t.order {
		s.Zones[i] = ZoneSnapshot[K]{Zone: d.key, State: d.state, Rate: d.rate, Members: make([]MemberSnapshot[K], 0, d.members)}
		of[d] = &s.Zones[i]
	}
	all := make([]member, 0, len(t.members))
	for key, r := range t.members {
		all = append(all, member{of[r.domain], r.sequence, MemberSnapshot[K]{key, r.Member}})
	}
	t.mu.Unlock()

	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, m := range all {
		m.zone.Members = append(m.zone.Members, m.MemberSnapshot)
	}
	return s
}

// Restore replaces everything by the snapshot, also one that another process took. The next Evaluate
// returns what the policy now sees differently from the snapshot: nothing, when neither the members nor
// the policy changed. All faults of a snapshot are returned at once, and then nothing is changed.
func (t *Tracker[K]) Restore(s Snapshot[K]) error {
	if err := s.validate(); err != nil {
		return err
	}
	t.evaluation.Lock()
	defer t.evaluation.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members = make(map[K]*record)
	t.domains = make(map[Key]*domain, len(s.Zones))
	t.order, t.cluster, t.allDown = nil, Counts{}, s.AllDown
	t.version++ // also when there is no member: the zones may be gone
	for _, z := range s.Zones {
		d := &domain{key: z.Zone, state: z.State, rate: z.Rate}
		t.insertLocked(d)
		for _, m := range z.Members {
			t.sequence++
			r := &record{domain: d, sequence: t.sequence, Member: m.Member}
			t.members[m.Key] = r
			t.countLocked(r, 1)
		}
	}
	return nil
}

func (s Snapshot[K]) validate() error {
	var errs field.ErrorList
	zones := make(map[Key]bool, len(s.Zones))
	members := make(map[K]bool)
	for i, z := range s.Zones {
		path := field.NewPath("zones").Index(i)
		if zones[z.Zone] {
			errs = append(errs, field.Duplicate(path.Child("zone"), z.Zone.String()))
		}
		zones[z.Zone] = true
		if z.State < Initial || z.State > FullDisruption {
			errs = append(errs, field.Invalid(path.Child("state"), z.State.String(), "must be one of the states"))
		}
		if !validRate(z.Rate) {
			errs = append(errs, field.Invalid(path.Child("rate"), z.Rate, "must be a finite number of at least 0"))
		} else if s.AllDown && z.Rate != 0 {
			errs = append(errs, field.Invalid(path.Child("rate"), z.Rate, "must be 0 while all zones are down"))
		}
		for j, m := range z.Members {
			if members[m.Key] {
				errs = append(errs, field.Duplicate(path.Child("members").Index(j).Child("key"), m.Key))
			}
			members[m.Key] = true
		}
	}
	return errs.ToAggregate()
}
