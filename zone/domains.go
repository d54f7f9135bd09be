package zone

import (
	"cmp"
	"math"
	"sync"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// never is the steady time at which nothing is asked again.
const never = math.MaxInt64

// standing is what evaluations tell about a domain, as of the last one.
type standing struct {
	state State
	rate  float64
}

// start is the standing of a domain that was not evaluated yet.
var start = standing{state: Initial}

// domain is a zone that has, or at the last evaluation had, a member.
type domain[D comparable] struct {
	key      D
	sequence uint64 // numbers the domains in the order in which they were made

	// Guarded by mu.
	counts  Counts
	members int // excluded ones too
	dirty   bool

	// Written with evaluation and mu held, so either suffices to read them.
	judged   bool // it was evaluated; until then the fields below are zero, but askAt is never
	ruled    standing
	before   State // the state before that of ruled
	since    int64 // when it entered the state of ruled, in steady time
	bad      bool  // some counted members were bad
	badSince int64
	askAt    int64
	decided  Counts // the counts that ruled is based on

	// Guarded by evaluation.
	observed bool   // it is in known
	seen     Counts // as of the last observe
	empty    bool   // it had no member at the last observe
	gone     bool   // it is forgotten
	weight   weight // its vote on "every zone is down", as judged
	next     Ruling // what the policy said in evaluation number round
	round    uint64
}

// weight is the vote of a domain on the question whether all are down.
type weight uint8

const (
	weightless weight = iota // no counted member: no vote
	up
	down
)

// stands returns the domain's standing, given whether all are down. mu or evaluation is held.
func (d *domain[D]) stands(allDown bool) standing {
	switch {
	case !d.judged:
		return start
	case allDown:
		return standing{state: d.ruled.state}
	}
	return d.ruled
}

// domains holds the failure domains of a tracker, with their counts and standings.
//
// Data flows in one direction: Set and Remove change counts under mu and mark the domain dirty. An evaluation copies
// the counts of the dirty domains (observe), asks the policy with only evaluation held (judge), and publishes the
// rulings with both locks held (commit).
type domains[D comparable] struct {
	policy   Policy
	policyOf func(D) Policy
	compare  func(a, b D) int
	clock    clock.PassiveClock
	// standard is the policy if it is a DisruptionPolicy and the only one. It looks only at a domain's own counts, so
	// it is asked only about domains whose counts changed, and it needs no clock.
	standard *DisruptionPolicy

	// evaluation serialises Evaluate, which alone drops a domain or changes a standing. It is taken before mu. mu is released while the policy is called. evaluation guards:
	evaluation sync.Mutex
	known      []*domain[D] // every domain that was observed, in order
	asked      []*domain[D] // the domains that this evaluation asks about
	round      uint64       // number of this evaluation
	up, down   int          // how many domains have these weights

	mu       sync.Mutex // guards the fields below, and those of domain and record that say so
	time     steady.Time
	byKey    due.Map[D, *domain[D]]
	dirty    []*domain[D] // domains whose counts changed since they were judged
	total    Counts       // the sum of all domains' counts
	sequence uint64
	requests uint64 // calls of Reconsider

	// Written with evaluation held too.
	allDown  bool
	wake     int64  // when a policy next wants to be asked again
	answered uint64 // the value of requests that evaluations have caught up with
}

func (ds *domains[D]) init(config Config[D]) {
	ds.policy, ds.policyOf, ds.compare, ds.clock = config.Policy, config.PolicyOf, config.Compare, config.Clock
	if ds.clock == nil {
		ds.clock = clock.RealClock{}
	}
	if p, ok := config.Policy.(DisruptionPolicy); ok && config.PolicyOf == nil {
		ds.standard = &p
	}
	ds.wake = never
}

// order compares domains for the order in which they are returned. It may call the user's code, so mu is not held.
func (ds *domains[D]) order(a, b *domain[D]) int {
	if ds.compare != nil {
		return ds.compare(a.key, b.key)
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// findLocked finds the domain or makes it.
func (ds *domains[D]) findLocked(key D) *domain[D] {
	if d := ds.byKey.Get(key); d != nil {
		return *d
	}
	ds.sequence++
	d := &domain[D]{key: key, sequence: ds.sequence, askAt: never}
	*ds.byKey.Add(key) = d
	return d
}

// countLocked adds the member to its domain's counts (by is 1) or subtracts it (by is -1).
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
