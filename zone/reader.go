package zone

import (
	"slices"
	"sync"
)

// Reader returns what changed since it was last asked. It is for those who do not evaluate: a second controller,
// metrics, a status page. Any number of Readers can follow one tracker; none takes a change away from another, or from
// those who call Evaluate. All methods are safe for concurrent use.
//
// A Reader remembers where each domain stood when it was last asked, so its memory is bounded by the number of domains
// at that time. Nothing piles up for a Reader that is never asked again; it needs no Close.
type Reader[D comparable] struct {
	domains *domains[D]

	mu      sync.Mutex // guards what follows; taken before that of domains
	commits uint64     // as of the last Changes, like the next three
	dropped uint64
	allDown bool
	known   map[D]told[D]
}

// told is where a domain stood when the reader was last told.
type told[D comparable] struct {
	domain *domain[D]
	standing
}

// Reader returns a new Reader, to which every domain is new.
func (t *Tracker[K, D]) Reader() *Reader[D] {
	return &Reader[D]{domains: &t.domains, known: make(map[D]told[D])}
}

// Changes returns the domains whose standing differs from what this Reader last saw, in the order of Evaluate; nil if
// there are none. It returns what evaluations have found so far and does not evaluate. Several changes of a domain
// are merged into one; a domain that came and went in between, or changed there and back, is not returned. Cluster
// compares the same two moments: if every zone was down only in between, it is None. Changes costs what changed, and
// if domains have gone, also one look at each domain the Reader knows.
func (r *Reader[D]) Changes() []Change[D] {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.domains.newsSince(r.commits)
	if now.commits == r.commits {
		return nil
	}
	moves := now.moves
	for _, d := range r.gone(&now) {
		moves = append(moves, move[D]{domain: d, standing: start, gone: true})
	}
	slices.SortFunc(moves, func(a, b move[D]) int { return r.domains.order(a.domain, b.domain) })
	transition := transitionTo(r.allDown, now.allDown)
	r.commits, r.dropped, r.allDown = now.commits, now.dropped, now.allDown
	var changes []Change[D]
	for _, m := range moves {
		before := start
		if was, ok := r.known[m.domain.key]; ok {
			before = was.standing
		}
		if m.gone {
			delete(r.known, m.domain.key)
		} else {
			r.known[m.domain.key] = told[D]{m.domain, m.standing}
		}
		if m.gone || before != m.standing || transition != None {
			changes = append(changes, changeOf(m.domain.key, before, m.standing, m.counts, transition, m.gone))
		}
	}
	return changes
}

// gone returns the domains that the reader knows, that have gone, and that have not come back. r.mu is held.
func (r *Reader[D]) gone(now *news[D]) (gone []*domain[D]) {
	if now.dropped == r.dropped {
		return nil
	}
	back := make(map[D]struct{}, len(now.moves))
	for _, m := range now.moves {
		back[m.domain.key] = struct{}{}
	}
	for key, was := range r.known {
		number := was.domain.gone.Load()
		if _, ok := back[key]; !ok && number != 0 && number <= now.commits { // what went later is for the next call
			gone = append(gone, was.domain)
		}
	}
	return gone
}

// news is what changed after a commit, as of one instant.
type news[D comparable] struct {
	commits, dropped uint64
	allDown          bool
	moves            []move[D]
}

type move[D comparable] struct {
	domain *domain[D]
	standing
	counts Counts
	gone   bool
}

func (ds *domains[D]) newsSince(commits uint64) news[D] {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	n := news[D]{commits: ds.commits, dropped: ds.dropped, allDown: ds.allDown}
	for d := ds.newest; d != nil && d.changed > commits; d = d.older {
		n.moves = append(n.moves, move[D]{domain: d, standing: d.stands(ds.allDown), counts: d.decided})
	}
	return n
}
