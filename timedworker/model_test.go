package timedworker

import (
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
)

// model is a naive Set: maps that are scanned, and times as durations since the start.
type model struct {
	now     time.Duration
	waiting map[string]*modelWork
	running map[string]*modelTry
	ran     map[string]bool // in the Step that is active
	order   int
	tries   int
	pauses  []string
	stats   Stats // without the instant of the last error
	erred   time.Duration
}

type modelWork struct {
	key, identity string
	value         int
	due, asked    time.Duration
	attempts      int
	err           error
	order         int
}

type modelTry struct {
	modelWork
	begun int
	void  bool
	next  *modelNext
}

type modelNext struct {
	modelWork
	policy Duplicate
}

func newModel() *model {
	return &model{waiting: map[string]*modelWork{}, running: map[string]*modelTry{}}
}

func (m *model) wait(w modelWork) {
	if w.order == 0 { // it keeps its place
		m.order++
		w.order = m.order
	}
	m.waiting[w.key] = &w
}

func (m *model) schedule(e Entry[string, int], due time.Duration) ScheduleResult {
	w := m.waiting[e.Key]
	try := m.running[e.Key]
	fresh := modelWork{key: e.Key, identity: e.Identity, value: e.Value, due: due, asked: due}
	switch {
	case try != nil:
		return m.behind(try, modelNext{fresh, e.OnDuplicate}, e.WhileInFlight)
	case w == nil:
		m.stats.Added++
		m.wait(fresh)
		return Scheduled
	case differ(w.identity, e.Identity):
		m.stats.Added++
		m.wait(fresh)
		return Replaced
	}
	if e.Identity != "" {
		w.identity = e.Identity
	}
	if e.OnDuplicate == KeepFirst || e.OnDuplicate == KeepEarliest && due >= w.asked {
		return Unchanged
	}
	w.value, w.asked = e.Value, due
	if w.due == due {
		return Unchanged
	}
	w.due = due
	m.wait(*w)
	return Moved
}

func (m *model) behind(try *modelTry, next modelNext, while WhileInFlight) ScheduleResult {
	owner := try.owner()
	if owner == nil || differ(owner.identity, next.identity) {
		try.void = true
		m.stats.Added++
		m.order++
		next.order = m.order
		try.next = &next
		return Queued
	}
	if owner.identity == "" {
		owner.identity = next.identity
	}
	if try.void {
		if next.policy == KeepFirst || next.policy == KeepEarliest && next.due >= owner.asked {
			return Unchanged
		}
		owner.value, owner.due, owner.asked = next.value, next.due, next.due
		return Queued
	}
	next.identity = owner.identity
	if try.next != nil {
		try.next.identity = owner.identity
	}
	if while == Ignore {
		return Unchanged
	}
	m.stats.Added++
	m.order++
	next.order = m.order
	try.next = &next
	return Queued
}

// owner returns whose work has the key: the running work or, if that is void, the work that waits for its end.
func (t *modelTry) owner() *modelWork {
	switch {
	case !t.void:
		return &t.modelWork
	case t.next != nil:
		return &t.next.modelWork
	}
	return nil
}

func (m *model) cancel(key, identity string) CancelResult {
	if w := m.waiting[key]; w != nil {
		if differ(w.identity, identity) {
			return OtherIdentity
		}
		delete(m.waiting, key)
		return Cancelled
	}
	try := m.running[key]
	if try == nil {
		return NotFound
	}
	result := OtherIdentity
	if try.next != nil && !differ(try.next.identity, identity) {
		try.next = nil
		result = Cancelled
	}
	if !differ(try.identity, identity) {
		try.void = true
		result = Running
	}
	return result
}

func (m *model) clear() {
	m.waiting = map[string]*modelWork{}
	for _, try := range m.running {
		try.void, try.next = true, nil
	}
}

// sorted returns what waits, in order.
func (m *model) sorted() []*modelWork {
	return slices.SortedFunc(maps.Values(m.waiting), func(a, b *modelWork) int {
		if a.due != b.due {
			return int(min(max(a.due-b.due, -1), 1))
		}
		return a.order - b.order
	})
}

// first returns what may start now.
func (m *model) first() *modelWork {
	if len(m.pauses) > 0 {
		return nil
	}
	for _, w := range m.sorted() {
		if w.due <= m.now && !m.ran[w.key] {
			return w
		}
	}
	return nil
}

// start starts the next work, if any may start.
func (m *model) start() *modelTry {
	w := m.first()
	if w == nil {
		return nil
	}
	delete(m.waiting, w.key)
	m.tries++
	try := &modelTry{modelWork: *w, begun: m.tries}
	m.running[w.key] = try
	if m.ran != nil {
		m.ran[w.key] = true
	}
	m.stats.Started++
	m.stats.LastLateness = m.now - w.due
	m.stats.MaxLateness = max(m.stats.MaxLateness, m.stats.LastLateness)
	return try
}

// end ends a try. after is the backoff for a Retry or an error that is not final.
func (m *model) end(try *modelTry, how outcome, after time.Duration, err error) {
	delete(m.running, try.key)
	if err != nil {
		m.stats.LastError, m.erred = err, m.now
	}
	if !try.void {
		count := map[outcome]*uint64{done: &m.stats.Done, dropped: &m.stats.Dropped, blocked: &m.stats.Blocked,
			retryAfter: &m.stats.Retried, retryBackoff: &m.stats.Retried}
		*count[how]++
	}
	over := try.void || how == done || how == dropped
	if next := try.next; next != nil {
		keeps := next.policy == KeepFirst || next.policy == KeepEarliest && next.due >= try.asked
		if over || !keeps {
			m.wait(next.modelWork)
			return
		}
	}
	if over {
		return
	}
	w := try.modelWork
	w.due = m.now + after
	if how != blocked {
		w.attempts++
	}
	if err != nil {
		w.err = err
	}
	m.wait(w)
}

// crash ends the process, with everything that runs.
func (m *model) crash() {
	for _, try := range slices.SortedFunc(maps.Values(m.running), func(a, b *modelTry) int { return a.begun - b.begun }) {
		m.end(try, blocked, 0, nil)
	}
	m.ran = nil
}

func (m *model) next() *time.Duration {
	sorted := m.sorted()
	if len(m.pauses) > 0 || len(sorted) == 0 {
		return nil
	}
	return ptr.To(sorted[0].due)
}

func (m *model) items() []SnapshotItem[string, int] {
	items := make([]SnapshotItem[string, int], 0)
	var orders []int
	for _, w := range m.waiting {
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
	c.waiting, c.running = map[string]*modelWork{}, maps.Clone(m.running)
	for key, w := range m.waiting {
		c.waiting[key] = ptr.To(*w)
	}
	return &c
}
