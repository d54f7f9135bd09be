package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/steady"
)

// DurationsSnapshot is what a tracker knows. It encodes to JSON if the keys do. It holds ages, not instants, so the
// time until it is restored does not count, and it may be restored on another clock.
type DurationsSnapshot[K comparable] struct {
	// Version is 1.
	Version int `json:"version"`
	// Keys are the tracked keys, the one that was not observed for longest first.
	Keys []ConditionsSnapshot[K] `json:"keys,omitempty"`
}

// ConditionsSnapshot is one key in a snapshot.
type ConditionsSnapshot[K comparable] struct {
	Key K `json:"key"`
	// Seen is how long ago it was last observed.
	Seen time.Duration `json:"seen"`
	// Conditions are those that rules ask for, each once.
	Conditions []ConditionSnapshot `json:"conditions,omitempty"`
}

// ConditionSnapshot is one condition of a key.
type ConditionSnapshot struct {
	Type v1.NodeConditionType `json:"type"`
	// Status is empty if the condition is missing or has a status that no rule can ask for.
	Status v1.ConditionStatus `json:"status,omitempty"`
	// Lasted is how long it has had this status. It is no less than Seen.
	Lasted time.Duration `json:"lasted"`
	// Transition is the LastTransitionTime that it last showed, in nanoseconds since 1970, if it showed one.
	Transition *int64 `json:"transition,omitempty"`
	// HandedOut is the For of the longest rule that Expired has yielded for this status; 0 if it has yielded none.
	HandedOut time.Duration `json:"handedOut,omitempty"`
}

// Snapshot returns every key.
func (d *Durations[K]) Snapshot() DurationsSnapshot[K] { return d.SnapshotAt(d.clock.Now()) }

// SnapshotAt is Snapshot at a reading of the clock.
func (d *Durations[K]) SnapshotAt(now time.Time) DurationsSnapshot[K] {
	s := DurationsSnapshot[K]{Version: snapshotVersion, Keys: d.keysAt(now)}
	slices.SortStableFunc(s.Keys, func(a, b ConditionsSnapshot[K]) int { return cmp.Compare(b.Seen, a.Seen) })
	return s
}

func (d *Durations[K]) keysAt(now time.Time) []ConditionsSnapshot[K] {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.time.Read(now)
	all := make([]ConditionsSnapshot[K], 0, d.observed.Len())
	for key, o := range d.observed.All() {
		k := ConditionsSnapshot[K]{Key: key, Seen: age(at, o.seen)}
		for n := range o.held {
			if h := &o.held[n]; h.status != unseen {
				k.Conditions = append(k.Conditions, d.watched[n].snapshot(h, at))
			}
		}
		all = append(all, k)
	}
	return all
}

func (w *watched) snapshot(h *held, at int64) ConditionSnapshot {
	s := ConditionSnapshot{Type: w.kind, Status: standingStatus[h.status], Lasted: age(at, h.since)}
	if h.claim != noStamp {
		claim := h.claim
		s.Transition = &claim
	}
	if h.told > 0 {
		s.HandedOut = w.rules[h.status][h.told-1].For
	}
	return s
}

// Restore tracks the keys of a snapshot as they were when it was taken. From then on the tracker answers as the original
// would have if its clock had stood still in between. The rules may differ from the original's: a condition that no rule
// asks for any more is dropped, a newly watched one is unknown until the key is observed, and a rule counts as handed out
// if a rule for the same status with the same or a longer time was. It is an error, and nothing has changed, if something
// is tracked already, if the version is unknown, or if a key or one of its conditions is there twice or impossible.
func (d *Durations[K]) Restore(s DurationsSnapshot[K]) error { return d.RestoreAt(s, d.clock.Now()) }

// RestoreAt is Restore at a reading of the clock.
func (d *Durations[K]) RestoreAt(s DurationsSnapshot[K], now time.Time) error {
	if s.Version != snapshotVersion {
		return fmt.Errorf("health: cannot restore a snapshot of version %d", s.Version)
	}
	keys, twice := make(map[K]bool, len(s.Keys)), map[v1.NodeConditionType]bool{}
	for i := range s.Keys {
		k := &s.Keys[i]
		if keys[k.Key] || k.Seen < 0 {
			return fmt.Errorf("health: cannot restore key %v: it is there twice, or seen a negative time ago", k.Key)
		}
		keys[k.Key] = true
		clear(twice)
		for n := range k.Conditions {
			c := &k.Conditions[n]
			if twice[c.Type] || !c.plausible(k.Seen) {
				return fmt.Errorf("health: cannot restore key %v: its condition %q is there twice, or contradicts itself", k.Key, c.Type)
			}
			twice[c.Type] = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.observed.Len() > 0 {
		return fmt.Errorf("health: cannot restore beside the %d keys that are tracked already", d.observed.Len())
	}
	at := d.time.Read(now)
	for i := range s.Keys {
		d.restoreKey(&s.Keys[i], at)
	}
	return nil
}

// plausible reports whether a key that was seen that long ago can have such a condition.
func (c *ConditionSnapshot) plausible(seen time.Duration) bool {
	asked := standingAsked(c.Status) != unseen
	return c.Lasted >= seen && c.HandedOut >= 0 && c.HandedOut <= c.Lasted && (asked || c.Status == "" && c.HandedOut == 0)
}

func (d *Durations[K]) restoreKey(k *ConditionsSnapshot[K], at int64) {
	o := d.add(k.Key)
	o.seen = steady.Sub(at, int64(k.Seen))
	for _, c := range k.Conditions {
		n := indexOf(d.watched, c.Type)
		if n < 0 {
			continue
		}
		status := max(standingAsked(c.Status), other)
		h := held{since: steady.Sub(at, int64(c.Lasted)), claim: noStamp, status: status, told: int32(upTo(d.watched[n].rules[status], c.HandedOut))}
		if c.Transition != nil {
			h.claim = *c.Transition
		}
		o.held[n] = h
	}
	d.wait(o)
}
