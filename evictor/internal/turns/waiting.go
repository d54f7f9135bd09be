package turns

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// Waiting is a node that waits.
type Waiting struct {
	Node  string
	Zone  zone.Key
	Since time.Time
	// Turn is when its turn comes if nothing changes: its place divided by the rate of its domain, without the caps. It is
	// zero while the domain is stopped or paused.
	Turn time.Time
}

// Waiting returns the waiting nodes domain by domain, in the order of their turns.
func (t *Turns) Waiting(now time.Time) []Waiting {
	type item struct {
		key
		domain zone.Key
		since  time.Time
	}
	keys := t.group.Waiting()
	items := make([]item, len(keys))
	for n, k := range keys {
		domain, status, _ := t.group.Get(k)
		items[n] = item{k, domain, status.Added}
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(a.domain.Compare(b.domain), cmp.Compare(turnOf(a.release), turnOf(b.release)))
	})
	waiting := make([]Waiting, len(items))
	var domain ratelimitqueue.DomainStatus
	var first int // index of the domain's first node
	for n, i := range items {
		if n == 0 || i.domain != items[n-1].domain {
			domain, _ = t.group.Domain(i.domain)
			first = n
		}
		waiting[n] = Waiting{Node: i.node, Zone: i.domain, Since: i.since}
		if !domain.Next.IsZero() {
			next := domain.Next
			if next.Before(now) {
				next = now
			}
			waiting[n].Turn = next.Add(time.Duration(float64(n-first) / domain.Rate * float64(time.Second)))
		}
	}
	return waiting
}

func turnOf(release bool) int {
	if release {
		return 0
	}
	return 1
}

// Backlog returns how many nodes wait, and since when the longest waiting one does. Its cost does not grow with their
// number.
func (t *Turns) Backlog() (waiting int, since time.Time) {
	since, _ = t.since.First()
	return t.since.Len(), since
}

// note updates Backlog for a key whose state may have changed.
func (t *Turns) note(k key) {
	one := t.waits[k]
	switch _, st, _ := t.group.Get(k); {
	case st.State == ratelimitqueue.Waiting:
		if one == nil {
			one = new(earliest.One)
			t.waits[k] = one
		}
		t.since.Put(one, st.Added)
	case one != nil:
		one.Leave()
		delete(t.waits, k)
	}
}
