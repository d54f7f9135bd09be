package zone

import (
	"cmp"
	"math"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// never is the steady time at which nothing is asked again.
const never = math.MaxInt64

// standing is what is told of a domain, as of the last evaluation.
type standing struct {
	state   State
	rate    float64
	pending Pending
}

// start is where a domain stands that was not evaluated yet.
var start = standing{state: Initial}

// domain is a zone that has, or at the last evaluation had, a member.
type domain[D comparable] struct {
	key      D
	sequence uint64 // rises with every domain made

	// Guarded by mu.
	counts  Counts
	members int // excluded ones too
	dirty   bool

	// Written with evaluation and mu held, so either suffices to read them.
	judged   bool // evaluated; before that the rest of these is zero
	ruled    standing
	before   State // the state before that of ruled
	since    int64 // from when on it has that state, in steady time
	bad      bool  // counted members of it were bad
	badSince int64
	askAt    int64
	decided  Counts // those that ruled is about

	// Guarded by evaluation.
	observed bool   // it is in known
	seen     Counts // as of the last observation
	empty    bool   // likewise, it had no member
	weight   weight // how it counts for "every zone is down", as judged
	next     Ruling // what the policy says in the evaluation numbered round
	round    uint64

	// The list of those that changed, for readers; guarded by mu.
	changed      uint64        // the commit that did, 0 before the first
	newer, older *domain[D]    // in the order of changed
	gone         atomic.Uint64 // the commit that dropped it, 0 while it is there; written under mu
}

// weight says how a domain counts when it is asked whether all are down.
type weight uint8

const (
	weightless weight = iota // no counted member: it does not decide
	up
	down
)

// stands is where the domain stands while all are down, or not; mu or evaluation is held.
func (d *domain[D]) stands(allDown bool) standing {
	switch {
	case !d.judged:
		return start
	case allDown:
		return standing{state: d.ruled.state, pending: Cancel}
	}
	return d.ruled
}

// domains are the failure domains of a tracker: their counts, and where they stand.
//
// What is told of them moves in one direction: Set and Remove change counts under mu and note the domain as
// dirty; an evaluation takes over the counts of the dirty ones (observe), asks the policy with only
// evaluation held (judge), and makes that what is told, with both (commit).
type domains[D comparable] struct {
	policy   Policy
	policyOf func(D) Policy
	compare  func(a, b D) int
	clock    clock.PassiveClock
	// standard is the policy when it is a DisruptionPolicy and the only one. It looks at nothing but a domain's own
	// counts, so only those whose counts changed are asked about, and it needs no clock.
	standard *DisruptionPolicy

	// evaluation serialises Evaluate and Restore, the only ones that drop a domain or change where one stands. It is
	// taken before mu. While it is held mu is released for the policy's calls. It guards:
	evaluation sync.Mutex
	known      []*domain[D] // all that were observed, in order
	asked      []*domain[D] // those about which this evaluation asks
	round      uint64       // of this evaluation
	up, down   int          // how many domains there are of these weights

	mu       sync.Mutex // guards what follows, and what is said to be so of every domain and member
	time     steady.Time
	byKey    map[D]*domain[D]
	dirty    []*domain[D] // whose counts changed since they were judged
	total    Counts       // the sum of all domains' counts
	sequence uint64
	requests uint64 // of Reconsider

	// Written with evaluation held too.
	allDown  bool
	wake     int64  // when the policy wants to be asked again
	answered uint64 // the requests that evaluations have met

	// For readers.
	commits uint64     // counts those that changed where a domain stands
	dropped uint64     // counts the domains that went; written with evaluation held too
	newest  *domain[D] // the one that changed last
}

func (ds *domains[D]) init(config Config[D]) {
	ds.policy, ds.policyOf, ds.compare, ds.clock = config.Policy, config.PolicyOf, config.Compare, config.Clock
	if ds.clock == nil {
		ds.clock = clock.RealClock{}
	}
	if p, ok := config.Policy.(DisruptionPolicy); ok && config.PolicyOf == nil {
		ds.standard = &p
	}
	ds.byKey = make(map[D]*domain[D])
	ds.wake = never
}

// order is that in which domains are returned. It may be the user's code: mu is not held.
func (ds *domains[D]) order(a, b *domain[D]) int {
	if ds.compare != nil {
		return ds.compare(a.key, b.key)
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// findLocked finds the domain or makes it.
func (ds *domains[D]) findLocked(key D) *domain[D] {
	d, ok := ds.byKey[key]
	if !ok {
		ds.sequence++
		d = &domain[D]{key: key, sequence: ds.sequence, askAt: never}
		ds.byKey[key] = d
	}
	return d
}

// countLocked adds the member to its domain's counts (by is 1) or takes it away (-1).
func (ds *domains[D]) countLocked(r *record[D], by int) {
	d := r.domain
	if !d.dirty {
		d.dirty = true
		ds.dirty = append(ds.dirty, d)
	}
	d.members += by
	if r.Excluded {
		return
	}
	d.counts.Total += by
	ds.total.Total += by
	if !r.Ready {
		d.counts.Bad += by
		ds.total.Bad += by
	}
}

// touchLocked notes that the domain stands elsewhere as of the commit of that number.
func (ds *domains[D]) touchLocked(d *domain[D], number uint64) {
	ds.unlinkLocked(d)
	d.changed, d.older = number, ds.newest
	if ds.newest != nil {
		ds.newest.newer = d
	}
	ds.newest = d
}

func (ds *domains[D]) unlinkLocked(d *domain[D]) {
	if d.older != nil {
		d.older.newer = d.newer
	}
	if d.newer != nil {
		d.newer.older = d.older
	} else if ds.newest == d {
		ds.newest = d.older
	}
	d.newer, d.older = nil, nil
}

// dropLocked forgets a domain that has no member, in the commit of that number.
func (ds *domains[D]) dropLocked(d *domain[D], number uint64) {
	delete(ds.byKey, d.key)
	ds.unlinkLocked(d)
	ds.dropped++
	d.gone.Store(number)
}
