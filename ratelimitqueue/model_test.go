package ratelimitqueue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// model is a group (and, with one domain, a queue) without regard to speed: maps, loops over everything, and tokens in
// units that are exact for the rates and times used here.
type model struct {
	isQueue bool
	rate    int64 // of new domains, in quarters of an item a second
	burst   int64
	now     int64 // nanoseconds
	items   map[string]*modelItem
	voids   map[string]int // holders of keys that were removed, by key
	domains map[string]*modelDomain
	cap     *modelBucket
	seq     int
	turns   int
	holders int
}

type modelItem struct {
	domain     string
	state      State
	value      int
	added, due int64
	seq        int
	attempts   int
	exempt     bool
	holder     int
	newer      []*modelNewer
}

type modelNewer struct {
	value      int
	added, due int64
	named      bool // it has a due time
	seq        int
	policy     Duplicate
	exempt     bool
}

type modelDomain struct {
	modelBucket
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

func newModel(isQueue bool, rate, burst, maxRate int64) *model {
	m := &model{isQueue: isQueue, rate: rate, burst: burst, items: map[string]*modelItem{}, voids: map[string]int{}, domains: map[string]*modelDomain{}}
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
		d = &modelDomain{modelBucket: modelBucket{rate: rate, burst: m.burst, tokens: m.burst * whole, at: m.now}, turn: m.turns}
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
			d.thaw(m.now)
			if d.rate == 0 {
				d.setRate(m.rate, m.now)
			}
		}
	}
}

// sweep forgets domains. It is called when they are looked at.
func (m *model) sweep() {
	for name, d := range m.domains {
		switch {
		case m.isQueue || m.inUse(name):
		case !d.forgotten && (d.rate != m.rate || d.frozen):
		case d.rate == endless || d.rate == 0:
			if d.at <= m.now {
				delete(m.domains, name)
			}
		case !d.frozen && d.reaches(d.burst*whole) <= m.now:
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

func (b *modelBucket) thaw(now int64) {
	b.note(now)
	b.frozen = false
}

func (m *model) add(domain string, e Entry[string, int], due int64) State {
	m.domain(domain, m.rate)
	it := m.items[e.Key]
	if it == nil {
		m.seq++
		m.items[e.Key] = &modelItem{domain: domain, state: Waiting, value: e.Value, added: m.now, due: due, seq: m.seq, exempt: e.Exempt}
		return Unknown
	}
	switch it.state {
	case InFlight:
		if e.OnDuplicate != KeepFirst {
			m.seq++
			it.newer = append(it.newer, &modelNewer{e.Value, m.now, due, !e.Due.IsZero(), m.seq, e.OnDuplicate, e.Exempt})
		}
	case Waiting:
		it.become(&modelNewer{value: e.Value, due: due, named: !e.Due.IsZero(), policy: e.OnDuplicate, exempt: e.Exempt})
	}
	return it.state
}

// become does what the policies of something newer say with a waiting item.
func (it *modelItem) become(newer ...*modelNewer) {
	for _, n := range newer {
		switch {
		case n.policy == KeepFirst:
		case !n.named:
			it.value, it.exempt = n.value, n.exempt
		default:
			it.value, it.due, it.exempt = n.value, n.due, n.exempt
		}
	}
}

func (m *model) remove(key string) State {
	it := m.items[key]
	if it == nil {
		return Unknown
	}
	delete(m.items, key)
	if it.state == InFlight {
		m.voids[key] = it.holder
	}
	return it.state
}

// waiting returns the keys of a domain that may be handed out, in their order.
func (m *model) waiting(domain string) []string {
	keys := m.inOrder(func(it *modelItem) bool {
		return it.domain == domain && it.state == Waiting
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

// choose returns what would be handed out now. With prefer it is the greatest key of those that are
// due.
func (m *model) choose(prefer bool) (key string) {
	if m.cap != nil && !m.cap.ready(m.now) {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(m.domains), func(a, b string) int {
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
	it.state, it.holder = InFlight, m.holders
	return key
}

// next returns when take will succeed.
func (m *model) next() (next int64, ok bool) {
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

// giveBack returns a token to a bucket.
func (b *modelBucket) giveBack(now int64) {
	if b.rate != endless && b.rate != 0 {
		b.note(now)
		b.tokens = min(b.tokens+whole, b.burst*whole)
	}
}

// end ends a holder's item, as Done and the like do. from is the domain that handed it out.
func (m *model) end(key string, holder int, from *modelDomain, kind slots.Kind, after time.Duration) {
	it := m.items[key]
	wanted := it != nil && it.holder == holder && it.state == InFlight
	if !wanted && m.voids[key] != holder {
		return
	}
	if kind == slots.Blocked && after > 0 {
		if m.cap != nil {
			m.cap.giveBack(m.now)
		}
		from.giveBack(m.now)
	}
	if !wanted {
		delete(m.voids, key)
		return
	}
	newer := it.newer
	it.newer = nil
	switch kind {
	case slots.Done:
		*it = modelItem{domain: it.domain, state: Finished, added: it.added, due: it.due, seq: it.seq}
	case slots.Forget:
		delete(m.items, key)
		if len(newer) > 0 {
			n := newer[0]
			m.items[key] = &modelItem{domain: it.domain, state: Waiting, value: n.value, added: n.added, due: n.due, seq: n.seq, exempt: n.exempt}
			m.items[key].become(newer[1:]...)
		}
	default:
		if kind != slots.Blocked {
			it.attempts++
		}
		it.state, it.due = Waiting, m.now+int64(max(after, 0))
		it.become(newer...)
	}
}

// at returns the instant that many nanoseconds after the epoch.
func at(n int64) time.Time { return epoch.Add(time.Duration(n)) }
