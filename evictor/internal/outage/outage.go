package outage

import (
	"container/list"
	"time"
)

// Outage is what failed because of the API server. K names a piece of work.
type Outage[K comparable] struct {
	interval time.Duration
	failed   map[K]*entry[K]
	asleep   *list.List // of entries: those that wait for the API server to answer, longest first
	answered time.Time
	probing  *entry[K] // the probe that is under way, of those asleep
	probe    time.Time // else when the next one is due, while some are asleep
}

// patience is for how many intervals after others were answered what fails again, and nothing else does, has a trouble of its own.
const patience = 12

type entry[K comparable] struct {
	key   K
	place *list.Element // in asleep, nil when it is not in it
	woken bool          // tried again because the API server had answered
}

// New returns an Outage. One that was answered within the interval is not failing.
func New[K comparable](interval time.Duration) *Outage[K] {
	return &Outage[K]{interval: interval, failed: make(map[K]*entry[K]), asleep: list.New()}
}

// Failed notes that a piece of work failed because of the API server. next is the time until another is to be tried, jittered.
func (o *Outage[K]) Failed(key K, now time.Time, next time.Duration) {
	f := o.failed[key]
	if f == nil {
		f = &entry[K]{key: key}
		o.failed[key] = f
	}
	lately := patience * o.interval
	if o.asleep.Len() > 0 { // nor is it alone if others fail
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

// Answered notes that the API server has answered, and returns what is to be tried again now, in the order in which it failed.
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

// Ended drops a piece of work: it succeeded, failed for a reason of its own, or is not wanted any more.
func (o *Outage[K]) Ended(key K, now time.Time) {
	f := o.failed[key]
	if f == nil {
		return
	}
	delete(o.failed, key)
	if f.place != nil {
		o.asleep.Remove(f.place)
	}
	if o.probing == f { // it found nothing out: another is tried at once
		o.probing, o.probe = nil, now
	}
}

// Probe returns what is to be tried now to find out whether the API server is back, if anything. It is under way then, until it is
// told to have Failed or Ended, or the API server has Answered.
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

// Next is when Probe has something to say.
func (o *Outage[K]) Next() (time.Time, bool) {
	return o.probe, o.asleep.Len() > 0 && o.probing == nil
}
