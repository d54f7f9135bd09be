package zone

import (
	"math"
	"slices"
)

// finding is what one evaluation saw of a domain, and what the policy says of it.
type finding struct {
	domain *domain // of it only key may be read without mu
	counts Counts
	rate   float64
	state  State
	empty  bool
}

// Evaluate returns the zones whose state or rate changed since the last call, in the order of their
// keys; nil when there are none, at once when nothing was Set or Removed differently. On entering or
// leaving the state in which every zone is down it returns all zones. Each change is returned once, so
// one caller should act on them; concurrent calls are safe and each sees some.
//
// It judges the counts of one instant. Whenever any of them changed, every zone is judged anew, because
// a rate may depend on the whole cluster. The policy is asked while no lock is held that other methods
// need. When it panics nothing is changed, and the next call starts over.
func (t *Tracker[K]) Evaluate() []Change {
	t.evaluation.Lock()
	defer t.evaluation.Unlock()
	version, cluster, changed := t.observe()
	if !changed {
		return nil
	}
	down := t.judge(cluster)
	return t.commit(version, down)
}

// observe copies the counts if any changed; evaluation is held.
func (t *Tracker[K]) observe() (version uint64, cluster Counts, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version == t.evaluated {
		return 0, Counts{}, false
	}
	t.scratch = slices.Grow(t.scratch[:0], len(t.order))[:len(t.order)]
	for i, d := range t.order {
		f := &t.scratch[i] // written field by field: a struct built aside and copied costs more
		f.domain, f.counts, f.rate, f.empty = d, d.counts, 0, d.members == 0
	}
	return t.version, t.cluster, true
}

// judge asks the policy about every finding and says whether all zones are down; evaluation is held, and
// mu is not.
func (t *Tracker[K]) judge(cluster Counts) (down bool) {
	down = cluster.Total > 0
	for i := range t.scratch {
		f := &t.scratch[i]
		f.state = t.stateOf(f.counts)
		if f.counts.Total > 0 && f.state != FullDisruption {
			down = false
		}
	}
	if down {
		return true // every rate stays 0
	}
	for i := range t.scratch {
		f := &t.scratch[i]
		f.rate = t.rateOf(f, cluster)
	}
	return false
}

func (t *Tracker[K]) stateOf(c Counts) State {
	if t.standard != nil {
		return t.standard.state(c)
	}
	if s := t.policy.State(c); s >= Initial && s <= FullDisruption {
		return s
	}
	return Initial
}

func (t *Tracker[K]) rateOf(f *finding, cluster Counts) float64 {
	if t.standard != nil {
		return t.standard.rate(f.state, f.counts.Total) // Validate saw to it that it is a rate
	}
	rate := t.policy.Rate(Situation{Zone: f.domain.key, State: f.state, Counts: f.counts, Cluster: cluster})
	if !validRate(rate) {
		return 0
	}
	return rate
}

// validRate says whether a rate is a finite number of at least 0.
func validRate(rate float64) bool { return rate >= 0 && rate <= math.MaxFloat64 }

// commit makes the findings the state and returns what they changed; evaluation is held.
// Members may have come and gone since observe: version then tells the next Evaluate to look again, and
// a zone that was empty but is not any more is kept.
func (t *Tracker[K]) commit(version uint64, down bool) []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	transition := None
	switch {
	case down && !t.allDown:
		transition = Entered
	case !down && t.allDown:
		transition = Left
	}
	t.allDown, t.evaluated = down, version
	var changes []Change
	gone := false
	for i := range t.scratch {
		f := &t.scratch[i]
		d := f.domain
		f.domain = nil // do not keep what is gone alive
		away := f.empty && d.members == 0
		if away {
			f.state, f.rate = Initial, 0
			delete(t.domains, d.key)
			gone = true
		}
		if away || f.state != d.state || f.rate != d.rate || transition != None {
			changes = append(changes, Change{Zone: d.key, From: d.state, To: f.state, PreviousRate: d.rate, Rate: f.rate,
				Counts: f.counts, Cluster: transition, Gone: away})
		}
		d.state, d.rate = f.state, f.rate
	}
	if gone {
		t.order = slices.DeleteFunc(t.order, func(d *domain) bool { return t.domains[d.key] != d })
	}
	return changes
}
