package zone

import (
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// never is the steady time at which nothing is asked again.
const never = math.MaxInt64

const unmade = "zone: the zero Tracker was used: make one with New"

// Evaluate asks the policy and returns the zones whose State or Rate changed since the last call, in the order of
// Zones; nil if there are none. now is a reading of the caller's clock. When the state in which every zone is down
// begins or ends, it returns every zone that it asked about.
//
// Evaluate judges the counts of one instant. It returns each change once, so only one caller should act on them.
// Concurrent calls are safe: they wait for each other, and each gets only some of the changes.
func (t *Tracker[K]) Evaluate(now time.Time) []Change {
	if t.policy == nil {
		panic(unmade) //nolint:forbidigo // a bug of the caller's
	}
	t.evaluation.Lock()
	defer t.evaluation.Unlock()
	at, seen, cluster := t.observe(now)
	for _, d := range t.asked {
		d.ruling = t.policy.Decide(Situation{Status{d.Zone, d.State, d.Rate, d.found}, cluster, now}).valid()
	}
	if len(t.asked) == 0 {
		return nil
	}
	return t.commit(at, seen)
}

// observe copies the counts of every zone, unless nothing has to be asked: then asked is empty. evaluation is held.
func (t *Tracker[K]) observe(now time.Time) (at int64, seen uint64, cluster Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = t.asked[:0]
	at = t.time.Read(now)
	if t.changes == t.judged && at < t.wake || t.calmLocked() {
		return at, t.changes, t.total
	}
	t.asked = append(t.asked, t.zones...)
	for _, d := range t.asked {
		d.found, d.empty = d.Counts, d.members == 0
	}
	return at, t.changes, t.total
}

// calmLocked reports whether DisruptionPolicy, which looks only at a zone's own counts, rules about every zone as it did.
// Most members that change change no ruling. BenchmarkFlipEvaluateSameMemberPlain is without it. evaluation is held too.
func (t *Tracker[K]) calmLocked() bool {
	policy, ok := t.policy.(DisruptionPolicy)
	if !ok {
		return false
	}
	for _, d := range t.zones {
		if d.members == 0 || d.ruling.State == "" || (d.Counts.Total == 0) != (d.found.Total == 0) {
			return false
		}
		if d.Counts == d.found {
			continue
		}
		if policy.Decide(Situation{Status: Status{Counts: d.Counts}}) != d.ruling {
			return false
		}
		d.found = d.Counts
	}
	t.judged = t.changes
	return true
}

// commit publishes the rulings and returns what they changed. evaluation is held. Members may have come and gone since
// observe: then changes is ahead of judged, and a zone that was empty but has a member again is kept.
func (t *Tracker[K]) commit(at int64, seen uint64) (changes []Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.allDown
	t.judged, t.allDown, t.wake = seen, down(t.asked), never
	gone := func(d *domain) bool { return d.empty && d.members == 0 }
	some := false
	for _, d := range t.asked {
		from, rate := d.State, d.Rate
		d.State, d.Rate = d.ruling.State, d.ruling.Rate
		if t.allDown {
			d.Rate = 0
		}
		if gone(d) {
			d.State, d.Rate, some = Initial, 0, true
		} else if d.ruling.AskAfter > 0 {
			t.wake = min(t.wake, steady.Add(at, d.ruling.AskAfter))
		}
		if gone(d) || d.State != from || d.Rate != rate || t.allDown != was {
			is := Status{d.Zone, d.State, d.Rate, d.found}
			changes = append(changes, Change{Status: is, From: from, AllDown: t.allDown, Gone: gone(d)})
		}
	}
	if some {
		t.zones = slices.Clone(slices.DeleteFunc(t.zones, gone))
		t.asked = nil // so that they can be collected
	}
	return changes
}

// down reports whether some zone has counted members, and every such zone is fully disrupted.
func down(asked []*domain) bool {
	some := false
	for _, d := range asked {
		if d.found.Total > 0 {
			if d.ruling.State != FullDisruption {
				return false
			}
			some = true
		}
	}
	return some
}

// Next returns when to call Evaluate even without a change, because a policy asked for it (AskAfter); false if none did.
// now is a reading of the caller's clock. The answer is on the clock of the latest reading, and not after it if the time
// has come already.
func (t *Tracker[K]) Next(now time.Time) (time.Time, bool) {
	if t.policy == nil {
		panic(unmade) //nolint:forbidigo // a bug of the caller's
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.time.Read(now) // the wall clock may have been set since the last reading
	if t.wake == never {
		return time.Time{}, false
	}
	return t.time.Instant(t.wake), true
}
