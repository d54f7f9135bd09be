package timedworker

import (
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
)

// model is a naive Set: maps that are scanned, and times as durations since the start.
type model struct {
	now    time.Duration
	works  map[string]*modelWork
	voids  map[string]*modelTry // running tries of keys that were cancelled or taken over
	ran    map[string]bool      // in the Step that is active
	order  int
	tries  int
	pauses []string
	panics uint64
}

type modelWork struct {
	key, identity string
	value         int
	due, asked    time.Duration
	attempts      int
	err           error
	order         int
	try           *modelTry    // it runs
	newer         []*modelWork // scheduled meanwhile
	named         bool         // of newer: it has a due time
	policy        Duplicate    // of newer
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
	fresh := &modelWork{key: e.Key, identity: e.Identity, value: e.Value, due: due, asked: due, named: !e.Due.IsZero(), policy: e.OnDuplicate}
	w := m.works[e.Key]
	switch {
	case w == nil:
		m.works[e.Key] = m.added(fresh)
		return Unknown
	case differ(w.identity, e.Identity):
		m.cancel(e.Key, "")
		m.works[e.Key] = m.added(fresh)
		return OtherIdentity
	}
	if w.identity == "" {
		w.identity = e.Identity
	}
	if w.try == nil {
		w.become(fresh)
		return Waiting
	}
	if e.OnDuplicate != KeepFirst {
		w.newer = append(w.newer, m.added(fresh))
	}
	return InFlight
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// become does with waiting work what the policies of something newer say.
func (w *modelWork) become(newer ...*modelWork) {
	for _, n := range newer {
		switch {
		case n.policy == KeepFirst, n.policy == KeepEarliest && n.due >= w.asked:
		case n.policy == Replace && !n.named:
			w.value = n.value
		default:
			w.value, w.due, w.asked = n.value, n.due, n.due
		}
	}
}

func (m *model) cancel(key, identity string) State {
	w := m.works[key]
	switch {
	case w == nil:
		return Unknown
	case differ(w.identity, identity):
		return OtherIdentity
	}
	delete(m.works, key)
	if w.try == nil {
		return Waiting
	}
	m.voids[key] = w.try
	return InFlight
}

func (m *model) clear() {
	for key := range m.works {
		m.cancel(key, "")
	}
}

// sorted returns what waits, in order. That includes what waits for the end of an earlier try of its key.
func (m *model) sorted() []*modelWork {
	return slices.DeleteFunc(slices.SortedFunc(maps.Values(m.works), func(a, b *modelWork) int {
		if a.due != b.due {
			return int(min(max(a.due-b.due, -1), 1))
		}
		return a.order - b.order
	}), func(w *modelWork) bool { return w.try != nil })
}

// ready returns what waits for nothing but its time.
func (m *model) ready() []*modelWork {
	return slices.DeleteFunc(m.sorted(), func(w *modelWork) bool { return m.voids[w.key] != nil })
}

// start starts the next work, if any may start.
func (m *model) start() *modelTry {
	if len(m.pauses) > 0 {
		return nil
	}
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
			newer[0].identity = w.identity
			m.works[try.key] = newer[0]
			newer[0].become(newer[1:]...)
		}
		return
	}
	w.due = m.now + after
	if how == retried {
		w.attempts++
		w.err = err
	}
	w.become(newer...)
}

// crash ends the process, with everything that runs.
func (m *model) crash() {
	for _, w := range m.works {
		if w.try != nil {
			m.end(w.try, blocked, 0, nil)
		}
	}
	m.voids, m.ran = map[string]*modelTry{}, nil
}

func (m *model) next() *time.Duration {
	ready := m.ready()
	if len(m.pauses) > 0 || len(ready) == 0 {
		return nil
	}
	return ptr.To(ready[0].due)
}

func (m *model) items() []SnapshotItem[string, int] {
	items := make([]SnapshotItem[string, int], 0)
	var orders []int
	for _, w := range m.works {
		orders = append(orders, w.order)
	}
	slices.Sort(orders)
	inOrder := slices.IsSortedFunc(m.sorted(), func(a, b *modelWork) int { return a.order - b.order })
	for _, w := range m.sorted() {
		place := 0
		if !inOrder {
			place = slices.Index(orders, w.order) + 1
		}
		items = append(items, SnapshotItem[string, int]{Key: w.key, Place: place, Identity: w.identity, Value: w.value, In: w.due - m.now, PutOff: w.due - w.asked, Attempts: w.attempts})
	}
	return items
}

// clone copies what crash changes.
func (m *model) clone() *model {
	c := *m
	c.works = map[string]*modelWork{}
	for key, w := range m.works {
		c.works[key] = ptr.To(*w)
	}
	return &c
}
