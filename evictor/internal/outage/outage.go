package outage

import (
	"container/list"
	"time"
)

// Outage tracks the work that failed because of the API server. K names a piece of work.
type Outage[K comparable] struct {
	interval time.Duration
	failed   map[K]*entry[K]
	asleep   *list.List // of entries that wait for the API server to answer, the longest waiting first
	answered time.Time  // when the API server last answered
	probing  *entry[K]  // the probe in flight, one of those asleep
	probe    time.Time  // when the next probe is due, while none is in flight and some are asleep
}

// patience is how many intervals after the API server's last answer a woken entry that fails again, alone, is taken to have
// a fault of its own.
const patience = 12

type entry[K comparable] struct {
	key   K
	place *list.Element // in asleep, or nil
	woken bool          // it was tried again because the API server had answered
}

// New returns an Outage. interval is the time between probes; an entry that was tried again after an answer, and fails
// within the interval after it, has a fault of its own.
func New[K comparable](interval time.Duration) *Outage[K] {
	return &Outage[K]{interval: interval, failed: make(map[K]*entry[K]), asleep: list.New()}
}

// Failed records that a piece of work failed because of the API server. next is the time until the next probe, jittered.
func (o *Outage[K]) Failed(key K, now time.Time, next time.Duration) {
	f := o.failed[key]
	if f == nil {
		f = &entry[K]{key: key}
		o.failed[key] = f
	}
	lately := patience * o.interval
	if o.asleep.Len() > 0 { // others fail too, so it is likely not its own fault
		lately = o.interval
	}
	alone := f.woken && now.Before(o.answered.Add(lately))
	switch {
	case alone:
	case f.place != nil:
		o.asleep.MoveToBack(f.place)
	default:
		f.place = o.asleep.PushBack(f)
	}
	if o.probing == f || f.place != nil && o.asleep.Len() == 1 {
		o.probing, o.probe = nil, now.Add(next)
	}
}

// Answered records that the API server has answered. It returns what to try again now, in the order of failing.
func (o *Outage[K]) Answered(now time.Time) (again []K) {
	o.answered, o.probing = now, nil
	for first := o.asleep.Front(); first != nil; first = o.asleep.Front() {
		f := first.Value.(*entry[K]) //nolint:errcheck,forcetypeassert // asleep holds nothing else
		o.asleep.Remove(first)
		f.place, f.woken = nil, true
		again = append(again, f.key)
	}
	return again
}

// Waits says whether a piece of work waits for the API server to answer.
func (o *Outage[K]) Waits(key K) bool {
	f := o.failed[key]
	return f != nil && f.place != nil
}

// Ended drops a piece of work that has succeeded, has failed for a reason of its own, or is no longer wanted.
func (o *Outage[K]) Ended(key K, now time.Time) {
	f := o.failed[key]
	if f == nil {
		return
	}
	delete(o.failed, key)
	if f.place != nil {
		o.asleep.Remove(f.place)
	}
	if o.probing == f { // the probe ended without an answer: try another at once
		o.probing, o.probe = nil, now
	}
}

// Probe returns what to try now, if anything, to find out whether the API server is back. That probe is in flight until
// Failed or Ended is called for it, or Answered.
func (o *Outage[K]) Probe(now time.Time) (key K, ok bool) {
	at, some := o.Next()
	if !some || now.Before(at) {
		return key, false
	}
	first := o.asleep.Front()
	f := first.Value.(*entry[K]) //nolint:errcheck,forcetypeassert // asleep holds nothing else
	o.asleep.MoveToBack(first)
	o.probing = f
	return f.key, true
}

// Next returns when Probe next returns something; false if never, as things are.
func (o *Outage[K]) Next() (time.Time, bool) {
	return o.probe, o.asleep.Len() > 0 && o.probing == nil
}
