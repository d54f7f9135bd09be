package timedworker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
)

// model is a naive Set: maps that are scanned, and times as durations since the start.
type model struct {
	now    time.Duration
	works  map[string]*modelWork
	voids  map[string]*modelTry // running tries of keys that were cancelled
	ran    map[string]bool      // in the Step that is active
	order  int
	tries  int
	panics int
}

type modelWork struct {
	key      string
	value    int
	due      time.Duration
	tried    bool
	attempts int
	err      error
	order    int
	try      *modelTry    // it runs
	newer    []*modelWork // scheduled meanwhile
	named    bool         // of newer: it has a due time
	policy   Duplicate    // of newer
}

type modelTry struct {
	modelWork
	begun int
}

func newModel() *model { return &model{works: map[string]*modelWork{}, voids: map[string]*modelTry{}} }

func (m *model) added(w *modelWork) *modelWork {
	m.order++
	w.order = m.order
	return w
}

func (m *model) schedule(e Entry[string, int], due time.Duration) State {
	fresh := &modelWork{key: e.Key, value: e.Value, due: due, named: !e.Due.IsZero(), policy: e.OnDuplicate}
	w := m.works[e.Key]
	switch {
	case w == nil:
		m.works[e.Key] = m.added(fresh)
		return Unknown
	case w.try == nil:
		w.become(fresh)
		return Waiting
	}
	if e.OnDuplicate != KeepFirst {
		w.newer = append(w.newer, m.added(fresh))
	}
	return InFlight
}

// become does with waiting work what the policies of something newer say.
func (w *modelWork) become(newer ...*modelWork) {
	for _, n := range newer {
		switch {
		case n.policy == KeepFirst, n.policy == KeepEarliest && (w.tried || n.due >= w.due):
		case n.policy == Replace && !n.named:
			w.value = n.value
		default:
			w.value, w.due = n.value, n.due
		}
	}
}

func (m *model) cancel(key string) State {
	w := m.works[key]
	if w == nil {
		return Unknown
	}
	delete(m.works, key)
	if w.try == nil {
		return Waiting
	}
	m.voids[key] = w.try
	return InFlight
}

// sorted returns what is known, in order.
func (m *model) sorted() []*modelWork {
	return slices.SortedFunc(maps.Values(m.works), func(a, b *modelWork) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.order, b.order))
	})
}

// ready returns what waits for nothing but its time.
func (m *model) ready() []*modelWork {
	return slices.DeleteFunc(m.sorted(), func(w *modelWork) bool { return w.try != nil || m.voids[w.key] != nil })
}

// start starts the next work, if any may start.
func (m *model) start() *modelTry {
	for _, w := range m.ready() {
		if w.due > m.now || m.ran[w.key] {
			continue
		}
		m.tries++
		w.try = &modelTry{modelWork: *w, begun: m.tries}
		if m.ran != nil {
			m.ran[w.key] = true
		}
		return w.try
	}
	return nil
}

// held says whether the work of a try is still wanted.
func (m *model) held(try *modelTry) bool {
	return m.works[try.key] != nil && m.works[try.key].try == try
}

// ending is how a try ends.
type ending uint8

const (
	done ending = iota
	retried
	blocked
)

func (m *model) end(try *modelTry, how ending, after time.Duration, err error) {
	if !m.held(try) {
		delete(m.voids, try.key)
		return
	}
	w := m.works[try.key]
	newer := w.newer
	w.try, w.newer = nil, nil
	if how == done {
		delete(m.works, try.key)
		if len(newer) > 0 {
			m.works[try.key] = newer[0]
			newer[0].become(newer[1:]...)
		}
		return
	}
	w.due, w.tried = m.now+after, true
	if how == retried {
		w.attempts++
		w.err = err
	}
	w.become(newer...)
}

func (m *model) next() *time.Duration {
	ready := m.ready()
	if len(ready) == 0 {
		return nil
	}
	return ptr.To(ready[0].due)
}
