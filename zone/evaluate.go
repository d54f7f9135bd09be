package zone

import (
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/steady"
)

const unmade = "zone: the zero Tracker was used: make one with NewTracker or New"

// now reads the clock.
func (ds *domains[D]) now() time.Time {
	if ds.clock == nil {
		panic(unmade) //nolint:forbidigo // a bug of the caller's
	}
	return ds.clock.Now()
}

// reading is the time of one evaluation. The clock is read when it is first needed.
type reading struct {
	now   time.Time
	taken bool
}

// take reads the clock unless that was done or the time was given. mu is not held, because the clock is the user's.
func (ds *domains[D]) take(r *reading) {
	if !r.taken {
		r.now, r.taken = ds.now(), true
	}
}

// Evaluate returns the domains whose State or rate changed since the last call, in order; nil if there are
// none. It returns at once if no Set or Remove could have changed a count, and no policy has to be asked again. When
// the cluster enters or leaves the state in which every zone is down, it returns all domains. It returns each change
// once, so only one caller should act on them. Concurrent calls are safe, but each gets only some of the changes.
//
// Evaluate judges the counts of one instant. While it asks a policy, only other calls of Evaluate wait. If the policy
// panics, nothing has changed and the next call starts over.
func (t *Tracker[K, D]) Evaluate() []Change[D] { return t.domains.evaluate(reading{}) }

// EvaluateAt is Evaluate at a reading of the clock.
func (t *Tracker[K, D]) EvaluateAt(now time.Time) []Change[D] {
	return t.domains.evaluate(reading{now, true})
}

// Next returns when to call Evaluate even without a Set or Remove, because a policy asked for it (AskAfter); false if
// no policy did. It may lie in the past.
func (t *Tracker[K, D]) Next() (time.Time, bool) { return t.NextAt(t.domains.now()) }

// NextAt is Next at a reading of the clock.
func (t *Tracker[K, D]) NextAt(now time.Time) (time.Time, bool) {
	ds := &t.domains
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.time.Read(now) // the wall clock may have been set since the last reading
	if ds.wake == never {
		return time.Time{}, false
	}
	return ds.time.Instant(ds.wake), true
}

// Reconsider makes the next Evaluate ask about every domain even if no count has changed. Call it when a policy's
// parameters have changed.
func (t *Tracker[K, D]) Reconsider() {
	ds := &t.domains
	ds.mu.Lock()
	ds.requests++
	ds.mu.Unlock()
}

// judgement is the result of an evaluation before it is published.
type judgement struct {
	all      bool   // a count changed or Reconsider was called: every domain is asked about
	dirty    int    // how many domains were dirty
	requests uint64 // the value of domains.requests that this evaluation answers
	cluster  Counts
	now      int64 // steady; valid only if the clock was read
	up, down int   // how many domains have these weights
	allDown  bool
	wake     int64
}

func (ds *domains[D]) evaluate(r reading) []Change[D] {
	ds.evaluation.Lock()
	defer ds.evaluation.Unlock()
	if ds.calm(&r) {
		return nil
	}
	ds.asked = ds.asked[:0]
	j := judgement{up: ds.up, down: ds.down, wake: never}
	if !ds.observe(&j, &r) {
		return nil
	}
	ds.enter()
	ds.round++
	if ds.standard != nil {
		ds.judgeStandard(&j, &r)
	} else {
		ds.judge(&j, &r)
	}
	if j.allDown = j.down > 0 && j.up == 0; j.allDown != ds.allDown {
		ds.asked = append(ds.asked[:0], ds.known...) // it changes every domain's standing
	}
	changes := ds.commit(&j, &r)
	if slices.ContainsFunc(changes, func(c Change[D]) bool { return c.Gone }) {
		ds.known = slices.DeleteFunc(ds.known, func(d *domain[D]) bool { return d.gone })
		if len(ds.known) < cap(ds.known)/8 {
			ds.known = slices.Clone(ds.known)
		}
		ds.asked = nil // lets the dropped domains be collected
	}
	return changes
}

// calm reports whether it is plain at once that nothing changes: no count has changed and no policy is to be asked again,
// or the standard policy gives every domain whose counts changed the ruling it has. In that case it also
// cleans those domains. evaluation is held.
func (ds *domains[D]) calm(r *reading) bool {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if r.taken {
		ds.time.Read(r.now)
	}
	if !ds.changedLocked() {
		return ds.wake == never
	}
	if ds.standard == nil || ds.requests != ds.answered {
		return false
	}
	for _, d := range ds.dirty {
		if !d.judged || d.members == 0 || !d.stays(ds.standard) {
			return false
		}
	}
	for i, d := range ds.dirty {
		d.seen, d.decided, d.dirty = d.counts, d.counts, false
		ds.dirty[i] = nil
	}
	ds.dirty = ds.dirty[:0]
	return true
}

// stays reports whether the policy's ruling for the domain is still the same. mu is held.
func (d *domain[D]) stays(p *DisruptionPolicy) bool {
	state := p.state(d.counts)
	return state == d.ruled.state && p.rate(state, d.counts.Total) == d.ruled.rate && (d.counts.Total > 0) == (d.weight != weightless)
}

// observe copies the counts of the dirty domains and reports whether there is anything to do. evaluation is held.
func (ds *domains[D]) observe(j *judgement, r *reading) bool {
	ds.mu.Lock()
	if ds.standard == nil && !r.taken && (ds.changedLocked() || ds.wake != never) {
		ds.mu.Unlock()
		ds.take(r)
		ds.mu.Lock()
	}
	defer ds.mu.Unlock()
	if r.taken {
		j.now = ds.time.Read(r.now)
	}
	j.cluster = ds.total
	if !ds.changedLocked() {
		return ds.wake != never && j.now >= ds.wake
	}
	j.all, j.dirty, j.requests = true, len(ds.dirty), ds.requests
	ds.asked = append(ds.asked, ds.dirty...)
	for _, d := range ds.asked {
		d.seen, d.empty = d.counts, d.members == 0
	}
	return true
}

func (ds *domains[D]) changedLocked() bool { return len(ds.dirty) > 0 || ds.requests != ds.answered }

// enter adds new domains to known, in order: O(n) if there are any. evaluation is held.
func (ds *domains[D]) enter() {
	if len(ds.asked) > 1 {
		slices.SortFunc(ds.asked, ds.order)
	}
	var fresh []*domain[D]
	for _, d := range ds.asked {
		if !d.observed {
			fresh = append(fresh, d)
		}
	}
	if len(fresh) == 0 {
		return
	}
	known, left := make([]*domain[D], 0, len(ds.known)+len(fresh)), fresh
	for _, d := range ds.known {
		for len(left) > 0 && ds.order(left[0], d) < 0 {
			known, left = append(known, left[0]), left[1:]
		}
		known = append(known, d)
	}
	ds.known = append(known, left...)
	for _, d := range fresh {
		d.observed = true
	}
}

// judgeStandard asks the standard policy about the domains whose counts changed. evaluation is held.
func (ds *domains[D]) judgeStandard(j *judgement, r *reading) {
	for _, d := range ds.asked {
		state := ds.standard.state(d.seen)
		d.next = Ruling{State: state, Rate: ds.standard.rate(state, d.seen.Total)} // Validate has checked the rates
		ds.weigh(j, d)
		if !d.judged || state != d.ruled.state {
			ds.take(r)
		}
	}
}

// judge asks the policies about all domains if any count changed, else about those whose AskAfter has passed. evaluation
// is held, mu is not.
func (ds *domains[D]) judge(j *judgement, r *reading) {
	ds.asked = ds.asked[:0]
	for _, d := range ds.known {
		if !j.all && d.askAt > j.now {
			j.wake = min(j.wake, d.askAt)
			continue
		}
		d.next = ds.policyFor(d.key).Decide(d.situation(j.cluster, j.now, r.now)).valid()
		ds.asked = append(ds.asked, d)
		ds.weigh(j, d)
		if !d.empty { // an empty one is dropped by commit, or has been filled since and is dirty
			j.wake = min(j.wake, d.nextAsk(j.now))
		}
	}
}

func (ds *domains[D]) policyFor(key D) Policy {
	if ds.policy == nil {
		panic(unmade) //nolint:forbidigo // a bug of the caller's
	}
	if ds.policyOf == nil {
		return ds.policy
	}
	own := ds.policyOf(key)
	if absent.Value(own) {
		return ds.policy
	}
	if err := validate(own); err != nil {
		panic(fmt.Errorf("zone: PolicyOf(%v): %w", key, err)) //nolint:forbidigo // as the policy itself might
	}
	return own
}

// weigh notes that the domain was asked about, and moves its vote to its new weight.
func (ds *domains[D]) weigh(j *judgement, d *domain[D]) {
	d.round = ds.round
	j.add(d.weight, -1)
	j.add(d.nextWeight(), 1)
}

func (j *judgement) add(w weight, by int) {
	switch w {
	case up:
		j.up += by
	case down:
		j.down += by
	}
}

// commit publishes the judgement and returns what it changed. evaluation is held. Members may have come and gone since
// observe: their domains stay dirty, and a domain that was empty then but is not now is kept.
func (ds *domains[D]) commit(j *judgement, r *reading) (changes []Change[D]) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.standard != nil && r.taken {
		j.now = ds.time.Read(r.now)
	}
	was, transition := ds.allDown, transitionTo(ds.allDown, j.allDown)
	for _, d := range ds.asked {
		before := d.stands(was)
		if d.round == ds.round {
			d.adopt(j.now, ds.standard == nil)
		}
		after, gone := d.stands(j.allDown), d.empty && d.members == 0
		switch {
		case gone:
			ds.byKey.Delete(d.key, ds.byKey.Get(d.key))
			d.gone, after = true, start
		case before == after && transition == None:
			continue
		}
		changes = append(changes, changeOf(d.key, before, after, d.decided, transition, gone))
	}
	ds.allDown, ds.up, ds.down, ds.wake = j.allDown, j.up, j.down, j.wake
	if j.all {
		ds.answered = j.requests
		ds.cleanLocked(j.dirty)
	}
	return changes
}

// manyDirty is the largest capacity that dirty keeps between evaluations.
const manyDirty = 1024

// cleanLocked unmarks those of the first judged dirty domains whose counts are still the ones that were judged.
func (ds *domains[D]) cleanLocked(judged int) {
	still := ds.dirty[:0]
	for i, d := range ds.dirty {
		if i < judged && d.counts == d.seen && d.empty == (d.members == 0) {
			d.dirty = false
		} else {
			still = append(still, d)
		}
	}
	clear(ds.dirty[len(still):]) // lets dropped domains be collected
	if ds.dirty = still; cap(still) > manyDirty {
		ds.dirty = slices.Clone(still)
	}
}

// adopt takes over what the policy ruled at that time. evaluation and mu are held. badSince is kept only if noteBad:
// it would cost a reading of the clock whenever a single member goes down.
func (d *domain[D]) adopt(now int64, noteBad bool) {
	if !d.judged || d.next.State != d.ruled.state {
		d.before, d.since = Initial, now
		if d.judged {
			d.before = d.ruled.state
		}
	}
	if bad := d.seen.Bad > 0; bad != d.bad && noteBad {
		d.bad, d.badSince = bad, now
	}
	d.ruled = standing{d.next.State, d.next.Rate}
	d.askAt, d.weight, d.decided = d.nextAsk(now), d.nextWeight(), d.seen
	d.judged = true
}

// situation is what the policy is asked about. evaluation is held.
func (d *domain[D]) situation(cluster Counts, now int64, clockNow time.Time) Situation {
	s := Situation{Counts: d.seen, Cluster: cluster, State: Initial, Before: Initial, Now: clockNow}
	if d.judged {
		s.State, s.Before, s.StateFor = d.ruled.state, d.before, age(now, d.since)
	}
	if d.bad && d.seen.Bad > 0 {
		s.BadFor = age(now, d.badSince)
	}
	return s
}

func (d *domain[D]) nextAsk(now int64) int64 {
	if d.next.AskAfter <= 0 {
		return never
	}
	return steady.Add(now, d.next.AskAfter)
}

func (d *domain[D]) nextWeight() weight {
	switch {
	case d.seen.Total == 0:
		return weightless
	case d.next.State == FullDisruption:
		return down
	}
	return up
}

// age is how long ago a steady time was.
func age(now, since int64) time.Duration { return time.Duration(max(steady.Sub(now, since), 0)) }
