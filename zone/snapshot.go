package zone

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// snapshotVersion is the only version so far.
const snapshotVersion = 1

// Snapshot is everything a tracker knows except its policy, as plain data. It holds ages and remaining times, not
// instants, so it can be restored on another clock. It encodes to JSON if K and D do.
type Snapshot[K, D comparable] struct {
	// Version is 1.
	Version int  `json:"version"`
	AllDown bool `json:"allDown"`
	// Zones are in the order of the tracker's domains.
	Zones []ZoneSnapshot[K, D] `json:"zones"`
}

// ZoneSnapshot is one domain with its members. State, Rate and Pending are as of the last Evaluate. Counts are not
// stored; they follow from the members.
type ZoneSnapshot[K, D comparable] struct {
	Zone D `json:"zone"`
	// New: the domain was not evaluated yet. Of the fields below only Members has a meaning then.
	New     bool    `json:"new,omitempty"`
	State   State   `json:"state"`
	Before  State   `json:"before"`
	Rate    float64 `json:"rate"`
	Pending Pending `json:"pending"`
	// StateFor and BadFor are as in Situation. BadFor is nil if no counted member was bad, and under a
	// DisruptionPolicy, which does not need it.
	StateFor time.Duration  `json:"stateFor"`
	BadFor   *time.Duration `json:"badFor,omitempty"`
	// AskAfter is the time left until the policy wants to be asked again, nil if it does not.
	AskAfter *time.Duration `json:"askAfter,omitempty"`
	// Members are in the order in which their keys were first Set.
	Members []MemberSnapshot[K] `json:"members"`
}

// MemberSnapshot is one member.
type MemberSnapshot[K comparable] struct {
	Key    K      `json:"key"`
	Member Member `json:"member"`
}

// Snapshot returns a copy of everything as of one instant. The same calls in the same order give the same snapshot.
// It costs O(n log n), most of it outside the lock.
func (t *Tracker[K, D]) Snapshot() Snapshot[K, D] { return t.SnapshotAt(t.domains.clock.Now()) }

// SnapshotAt is Snapshot at a reading of the clock.
func (t *Tracker[K, D]) SnapshotAt(now time.Time) Snapshot[K, D] {
	members, zones, allDown := t.copyAt(now)
	ds := &t.domains
	order := slices.SortedFunc(maps.Keys(zones), ds.order)
	s := Snapshot[K, D]{Version: snapshotVersion, AllDown: allDown, Zones: make([]ZoneSnapshot[K, D], len(order))}
	at := make(map[*domain[D]]int, len(order))
	for i, d := range order {
		s.Zones[i], at[d] = zones[d], i
	}
	slices.SortFunc(members, func(a, b memberCopy[K, D]) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, m := range members {
		z := &s.Zones[at[m.domain]]
		z.Members = append(z.Members, m.MemberSnapshot)
	}
	return s
}

type memberCopy[K, D comparable] struct {
	domain   *domain[D]
	sequence uint64
	MemberSnapshot[K]
}

// copyAt copies what a snapshot needs, unordered.
func (t *Tracker[K, D]) copyAt(clockNow time.Time) (members []memberCopy[K, D], zones map[*domain[D]]ZoneSnapshot[K, D], allDown bool) {
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	now := ds.time.Read(clockNow)
	zones = make(map[*domain[D]]ZoneSnapshot[K, D], len(ds.byKey))
	for _, d := range ds.byKey {
		z := ZoneSnapshot[K, D]{Zone: d.key, New: !d.judged, State: Initial, Before: Initial, Members: make([]MemberSnapshot[K], 0, d.members)}
		if d.judged {
			stands := d.stands(ds.allDown)
			z.State, z.Before, z.Rate, z.Pending, z.StateFor = stands.state, d.before, stands.rate, stands.pending, age(now, d.since)
			if d.bad {
				z.BadFor = pointer(age(now, d.badSince))
			}
			if d.askAt != never {
				z.AskAfter = pointer(max(0, time.Duration(steady.Sub(d.askAt, now))))
			}
		}
		zones[d] = z
	}
	members = make([]memberCopy[K, D], 0, t.members.Len())
	for key, r := range t.members.All() {
		members = append(members, memberCopy[K, D]{r.domain, r.sequence, MemberSnapshot[K]{key, r.Member}})
	}
	return members, zones, ds.allDown
}

func pointer[T any](value T) *T { return &value }

// Restore replaces everything by the snapshot, as if the clock had stood still since it was taken; another process may
// have taken it. The next Evaluate asks about every domain and returns the differences between the snapshot and what
// the policy says now: none, if neither the members nor the policy changed. An error lists all faults of the snapshot,
// including an unknown Version; nothing has changed then.
func (t *Tracker[K, D]) Restore(s Snapshot[K, D]) error {
	return t.RestoreAt(s, t.domains.clock.Now())
}

// RestoreAt is Restore at a reading of the clock.
func (t *Tracker[K, D]) RestoreAt(s Snapshot[K, D], now time.Time) error {
	if err := s.validate(); err != nil {
		return err
	}
	ds := &t.domains
	ds.evaluation.Lock()
	defer ds.evaluation.Unlock()
	ds.mu.Lock()
	defer ds.mu.Unlock()
	at := ds.time.Read(now)
	t.members = due.Map[K, record[D]]{}
	ds.emptyLocked()
	ds.allDown = s.AllDown
	for i := range s.Zones {
		z := &s.Zones[i]
		d := ds.findLocked(z.Zone)
		if !z.New {
			z.restore(d, at)
			ds.touchLocked(d, ds.commits)
			ds.wake = min(ds.wake, d.askAt)
		}
		if !d.dirty { // even without members: the next evaluation drops it
			d.dirty = true
			ds.dirty = append(ds.dirty, d)
		}
		for _, m := range z.Members {
			t.addLocked(m.Key, d, m.Member)
		}
		d.decided = d.counts // the snapshot does not hold what was decided on
	}
	return nil
}

// emptyLocked drops every domain, in a commit of its own. evaluation is held too.
func (ds *domains[D]) emptyLocked() {
	ds.commits++
	for _, d := range ds.byKey {
		ds.dropLocked(d, ds.commits)
	}
	ds.known, ds.asked, ds.dirty = nil, nil, nil
	ds.up, ds.down, ds.wake, ds.total = 0, 0, never, Counts{}
	ds.requests++ // makes the next evaluation look, even if no domain is left
}

// restore gives the domain what the snapshot says about it; now is steady time.
func (z *ZoneSnapshot[K, D]) restore(d *domain[D], now int64) {
	d.judged = true
	d.ruled = standing{z.State, z.Rate, z.Pending}
	d.before, d.since = z.Before, steady.Add(now, -z.StateFor)
	if z.BadFor != nil {
		d.bad, d.badSince = true, steady.Add(now, -*z.BadFor)
	}
	if z.AskAfter != nil {
		d.askAt = steady.Add(now, *z.AskAfter)
	}
}

func (s Snapshot[K, D]) validate() error {
	var errs field.ErrorList
	if s.Version != snapshotVersion {
		errs = append(errs, field.Invalid(field.NewPath("version"), s.Version, fmt.Sprintf("must be %d", snapshotVersion)))
	}
	zones := make(map[D]bool, len(s.Zones))
	members := make(map[K]bool)
	for i := range s.Zones {
		z, path := &s.Zones[i], field.NewPath("zones").Index(i)
		if zones[z.Zone] {
			errs = append(errs, field.Duplicate(path.Child("zone"), fmt.Sprint(z.Zone)))
		}
		zones[z.Zone] = true
		errs = append(errs, z.validate(path, s.AllDown)...)
		for j, m := range z.Members {
			if members[m.Key] {
				errs = append(errs, field.Duplicate(path.Child("members").Index(j).Child("key"), m.Key))
			}
			members[m.Key] = true
		}
	}
	return errs.ToAggregate()
}

func (z *ZoneSnapshot[K, D]) validate(path *field.Path, allDown bool) (errs field.ErrorList) {
	invalid := func(name string, value any, why string) {
		errs = append(errs, field.Invalid(path.Child(name), value, why))
	}
	for _, state := range []struct {
		name string
		State
	}{{"state", z.State}, {"before", z.Before}} {
		if state.State < Initial || state.State > FullDisruption {
			invalid(state.name, state.String(), "must be one of the states")
		}
	}
	if !validRate(z.Rate) {
		invalid("rate", z.Rate, "must be a finite number of at least 0")
	} else if allDown && z.Rate != 0 {
		invalid("rate", z.Rate, "must be 0 while all zones are down")
	}
	if z.Pending > Cancel {
		invalid("pending", z.Pending.String(), "must be GoOn, Wait or Cancel")
	}
	for _, age := range []struct {
		name string
		*time.Duration
	}{{"stateFor", &z.StateFor}, {"badFor", z.BadFor}, {"askAfter", z.AskAfter}} {
		if age.Duration != nil && *age.Duration < 0 {
			invalid(age.name, age.String(), "must not be negative")
		}
	}
	return errs
}
