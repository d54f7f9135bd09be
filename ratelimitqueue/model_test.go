package ratelimitqueue

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// model is a group (and, with one domain, a queue) without regard to speed: maps, loops over everything, and tokens in
// units that are exact for the rates and times used here.
type model struct {
	isQueue  bool
	compare  bool  // domains are ordered, the greatest name first
	rate     int64 // of new domains, in quarters of an item a second
	burst    int64
	now      int64 // nanoseconds
	items    map[string]*modelItem
	voids    map[string]int // holders of keys that were removed, by key
	domains  map[string]*modelDomain
	cap      *modelBucket
	bound    int
	out      int
	exempt   int
	pauses   []string
	seq      int
	turns    int
	holders  int
	stats    Stats
	lastFail string
}

type modelItem struct {
	domain     string
	state      State
	value      int
	identity   string
	added, due int64
	asked      int64 // due, before tries delayed it
	seq        int
	attempts   int
	exempt     bool
	err        string
	holder     int
	newer      *modelNewer
}

type modelNewer struct {
	value      int
	added, due int64
	seq        int
	policy     Duplicate
	exempt     bool
}

type modelDomain struct {
	modelBucket
	pauses    []string
	turn      int
	forgotten bool
}

// modelBucket holds tokens times whole.
type modelBucket struct {
	rate   int64 // quarters of an item a second, endless, or 0
	burst  int64
	tokens int64
	at     int64
	frozen bool
}

const (
	whole   = 4 * int64(time.Second)
	endless = -1
)

func newModel(isQueue bool, rate, burst, maxRate int64, bound int) *model {
	m := &model{isQueue: isQueue, rate: rate, burst: burst, bound: bound, items: map[string]*modelItem{}, voids: map[string]int{}, domains: map[string]*modelDomain{}}
	if maxRate != 0 {
		m.cap = &modelBucket{rate: maxRate, burst: 1, tokens: whole}
	}
	if isQueue {
		m.domain("p", rate)
	}
	return m
}

func (b *modelBucket) have(now int64) int64 {
	switch {
	case b.rate == endless:
		return b.burst * whole
	case b.frozen || b.rate == 0:
		return b.tokens
	}
	return min(b.tokens+(now-b.at)*b.rate, b.burst*whole)
}

func (b *modelBucket) note(now int64) { b.tokens, b.at = b.have(now), now }

func (b *modelBucket) ready(now int64) bool {
	return !b.frozen && (b.rate == endless || b.rate != 0 && b.have(now) >= whole)
}

func (b *modelBucket) take(now int64) {
	if b.rate != endless {
		b.note(now)
		b.tokens -= whole
	}
}

// reaches returns when there are that many tokens.
func (b *modelBucket) reaches(tokens int64) int64 { return b.at + max(0, (tokens-b.tokens)/b.rate) }

func (b *modelBucket) next(from int64) (int64, bool) {
	switch {
	case b.frozen || b.rate == 0:
		return 0, false
	case b.rate == endless:
		return from, true
	}
	return max(from, b.reaches(whole)), true
}

func (b *modelBucket) setRate(rate, now int64) {
	if rate == b.rate {
		return
	}
	b.tokens, b.at = b.have(now)/whole*whole, now
	b.rate = rate
	if rate == 0 {
		b.tokens = 0
	}
}

// domain returns the domain, and makes it if needed.
func (m *model) domain(name string, rate int64) *modelDomain {
	d := m.domains[name]
	if d == nil {
		m.turns++
		d = &modelDomain{modelBucket: modelBucket{rate: rate, burst: m.burst, tokens: m.burst * whole, at: m.now, frozen: len(m.pauses) > 0}, turn: m.turns}
		if rate == 0 {
			d.tokens = 0
		}
		m.domains[name] = d
	}
	return d
}

// tidy drops the settings of forgotten domains that are empty. It is called after every operation.
func (m *model) tidy() {
	for name, d := range m.domains {
		if !m.isQueue && d.forgotten && !m.inUse(name) {
			if len(d.pauses) > 0 {
				d.pauses = nil
				m.thaw(d)
			}
			if d.rate == 0 {
				d.setRate(m.rate, m.now)
			}
		}
	}
}

// sweep forgets domains. It is called where time is read.
func (m *model) sweep() {
	for name, d := range m.domains {
		switch {
		case m.isQueue || m.inUse(name):
		case !d.forgotten && (d.rate != m.rate || len(d.pauses) > 0):
		case d.rate == endless || d.rate == 0:
			if d.at <= m.now {
				delete(m.domains, name)
			}
		case !d.frozen && d.reaches(d.burst*whole) < m.now:
			delete(m.domains, name)
		}
	}
}

func (m *model) inUse(domain string) bool {
	for _, it := range m.items {
		if it.domain == domain {
			return true
		}
	}
	return false
}

func (m *model) thaw(d *modelDomain) {
	if len(m.pauses) == 0 && len(d.pauses) == 0 {
		d.note(m.now)
		d.frozen = false
	}
}

func (m *model) add(e GroupEntry[string, string, int], due int64) AddResult {
	m.sweep()
	m.domain(e.Domain, m.rate)
	it := m.items[e.Key]
	other := it != nil && it.identity != "" && e.Identity != "" && it.identity != e.Identity
	switch {
	case it == nil:
		m.fresh(e, due)
		return Added
	case other:
		m.remove(e.Key, "")
		m.fresh(e, due)
		return Replaced
	}
	if it.identity == "" {
		it.identity = e.Identity
	}
	switch it.state {
	case StateKept:
		return Kept
	case StateInFlight:
		if e.WhileInFlight == Again {
			m.seq++
			m.stats.Added++
			it.newer = &modelNewer{e.Value, m.now, due, m.seq, e.OnDuplicate, e.Exempt}
		}
		return InFlight
	}
	if e.OnDuplicate == Replace || e.OnDuplicate == KeepEarliest && due < it.asked {
		it.value, it.due, it.asked, it.exempt = e.Value, due, due, e.Exempt
	}
	return Known
}

func (m *model) fresh(e GroupEntry[string, string, int], due int64) {
	m.seq++
	m.stats.Added++
	m.items[e.Key] = &modelItem{domain: e.Domain, state: StateWaiting, value: e.Value, identity: e.Identity, added: m.now, due: due, asked: due, seq: m.seq, exempt: e.Exempt}
}

func (m *model) remove(key, identity string) RemoveResult {
	it := m.items[key]
	switch {
	case it == nil:
		return NotFound
	case it.identity != "" && identity != "" && it.identity != identity:
		return OtherIdentity
	}
	delete(m.items, key)
	if it.state == StateInFlight {
		m.voids[key] = it.holder
		return RemovedInFlight
	}
	return Removed
}

// waiting returns the keys of a domain that may be handed out, in their order.
func (m *model) waiting(domain string) []string {
	keys := m.inOrder(func(it *modelItem) bool {
		return it.domain == domain && it.state == StateWaiting && (it.exempt || !m.full())
	})
	return slices.DeleteFunc(keys, func(key string) bool { return m.voids[key] != 0 })
}

// inOrder returns the keys of these items in the order in which they are due.
func (m *model) inOrder(which func(*modelItem) bool) (keys []string) {
	for key, it := range m.items {
		if which(it) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, y := m.items[a], m.items[b]
		return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.seq, y.seq))
	})
	return keys
}

func (m *model) full() bool { return m.bound >= 0 && m.out >= m.bound }

// choose returns what would be handed out now. With prefer it is the greatest key of those that are
// due.
func (m *model) choose(prefer bool) (key string) {
	if len(m.pauses) > 0 || m.cap != nil && !m.cap.ready(m.now) {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(m.domains), func(a, b string) int {
		if m.compare {
			return cmp.Compare(b, a)
		}
		return cmp.Compare(m.domains[a].turn, m.domains[b].turn)
	})
	for _, name := range names {
		if !m.domains[name].ready(m.now) {
			continue
		}
		due := slices.DeleteFunc(m.waiting(name), func(key string) bool { return m.items[key].due > m.now })
		exempt := slices.IndexFunc(due, func(key string) bool { return m.items[key].exempt })
		switch {
		case exempt >= 0:
			return due[exempt]
		case len(due) > 0 && prefer:
			return slices.Max(due)
		case len(due) > 0:
			return due[0]
		}
	}
	return ""
}

func (m *model) take(prefer bool) (key string) {
	m.sweep()
	if key = m.choose(prefer); key == "" {
		return ""
	}
	it := m.items[key]
	d := m.domains[it.domain]
	d.take(m.now)
	if m.cap != nil {
		m.cap.take(m.now)
	}
	m.turns++
	d.turn = m.turns
	m.holders++
	it.state, it.holder = StateInFlight, m.holders
	*m.outOf(it.exempt)++
	m.stats.HandedOut++
	m.stats.LastLateness = time.Duration(m.now - it.due)
	m.stats.MaxLateness = max(m.stats.MaxLateness, m.stats.LastLateness)
	return key
}

func (m *model) outOf(exempt bool) *int {
	if exempt {
		return &m.exempt
	}
	return &m.out
}

// next returns when take will succeed.
func (m *model) next() (next int64, ok bool) {
	if len(m.pauses) > 0 {
		return 0, false
	}
	for name, d := range m.domains {
		for _, key := range m.waiting(name) {
			if at, some := d.next(max(m.now, m.items[key].due)); some && (!ok || at < next) {
				next, ok = at, true
			}
		}
	}
	if ok && m.cap != nil {
		next, ok = m.cap.next(next)
	}
	return next, ok
}

// giveBack returns the token of all domains.
func (m *model) giveBack(unused bool) {
	if unused && m.cap != nil {
		m.cap.note(m.now)
		m.cap.tokens = min(m.cap.tokens+whole, m.cap.burst*whole)
	}
}

// end ends a holder's item, as Done and the like do. unused gives back the token of all domains; if from is not nil, the
// token of the domain that handed the item out is given back too.
func (m *model) end(key string, holder int, exempt, unused bool, from *modelDomain, kind kind, after time.Duration, err string) Ended {
	it := m.items[key]
	if it == nil || it.holder != holder || it.state != StateInFlight {
		if m.voids[key] != holder {
			return Ended{}
		}
		delete(m.voids, key)
		*m.outOf(exempt)--
		m.giveBack(unused)
		if err != "" {
			m.stats.LastErrorAt, m.lastFail = at(m.now), err
		}
		return Ended{Newer: it != nil}
	}
	*m.outOf(exempt)--
	m.giveBack(unused)
	if from != nil && m.domains[it.domain] == from && from.rate != endless && from.rate != 0 {
		from.note(m.now)
		from.tokens = min(from.tokens+whole, from.burst*whole)
	}
	n := it.newer
	it.newer = nil
	if err != "" {
		it.err, m.stats.LastErrorAt, m.lastFail = err, at(m.now), err
	}
	switch kind {
	case keep:
		m.stats.Done++
		*it = modelItem{domain: it.domain, state: StateKept, identity: it.identity, added: it.added, due: it.due, asked: it.due, seq: it.seq}
	case done, drop:
		if kind == drop {
			m.stats.Dropped++
		} else {
			m.stats.Done++
		}
		delete(m.items, key)
		if n != nil {
			m.items[key] = &modelItem{domain: it.domain, state: StateWaiting, value: n.value, identity: it.identity, added: n.added, due: n.due, asked: n.due, seq: n.seq, exempt: n.exempt}
		}
	default:
		if kind == retry {
			m.stats.Retried++
			it.attempts++
			if after < 0 {
				after = min(time.Second<<(it.attempts-1), 8*time.Second)
			}
		} else {
			m.stats.Blocked++
		}
		it.state, it.due = StateWaiting, m.now+int64(after)
		if n != nil && (n.policy == Replace || n.policy == KeepEarliest && n.due < it.asked) {
			it.value, it.due, it.asked, it.exempt = n.value, n.due, n.due, n.exempt
		}
	}
	return Ended{Held: true, Newer: n != nil}
}

// at returns the instant that many nanoseconds after the epoch.
func at(n int64) time.Time { return epoch.Add(time.Duration(n)) }
