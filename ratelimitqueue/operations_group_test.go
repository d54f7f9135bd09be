package ratelimitqueue

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// ofGroup plays what only a group has.
func (p *player) ofGroup() {
	m, g, domain := p.model, p.subject.g, p.domain()
	switch p.below(8) {
	case 0, 1, 2:
		key := pick(p.choices, keyNames...)
		p.note("move %s to %s", key, domain)
		it := m.items[key]
		if it != nil {
			m.domain(domain, m.rate)
			it.domain = domain
		}
		p.want("moved", it != nil, g.Move(key, domain))
	case 3:
		p.note("pause domain %s", domain)
		m.sweep()
		d := m.domain(domain, m.rate)
		d.forgotten = false
		if !slices.Contains(d.pauses, "own") {
			d.pauses = append(d.pauses, "own")
		}
		d.note(m.now)
		d.frozen = true
		g.PauseDomain(domain, "own")
	case 4, 5:
		p.note("resume domain %s", domain)
		m.sweep()
		d := m.domains[domain]
		there := d != nil && len(d.pauses) > 0
		if there {
			d.pauses = nil
			m.thaw(d)
		}
		p.want("resumed", there, g.ResumeDomain(domain, "own"))
	case 6:
		p.note("forget domain %s", domain)
		if d := m.domains[domain]; d != nil {
			d.forgotten = true
		}
		g.ForgetDomain(domain)
	case 7:
		m.bound = pick(p.choices, -1, 0, 1, 2)
		p.note("at most %d in flight", m.bound)
		g.SetMaxInFlight(m.bound)
	}
}

// clear clears both.
func (p *player) clear() {
	p.note("clear")
	for key := range p.model.items {
		p.model.remove(key, "")
	}
	p.subject.core().Clear()
}

// compare compares the answers of every method.
func (p *player) compare() {
	m, c := p.model, p.subject.core()
	counts := [Finished + 1]int{}
	for _, key := range keyNames {
		domain, st, ok := p.subject.get(key)
		it := m.items[key]
		if p.want("known "+key, it != nil, ok); !ok {
			continue
		}
		counts[it.state]++
		text := ""
		if st.LastError != nil {
			text = st.LastError.Error()
		}
		want := Status[int]{it.state, it.value, it.identity, at(it.added), at(it.due), it.attempts, nil}
		p.want("domain of "+key, it.domain, domain)
		st.LastError = nil
		p.want("status of "+key, want, st)
		p.want("error of "+key, it.err, text)
	}
	p.want("stats", Stats{Waiting: counts[Waiting], InFlight: m.out + m.exempt, Finished: counts[Finished]}, c.Stats())
	p.want("waiting", counts[Waiting], c.Len())
	p.want("waiting", fmt.Sprint(m.inOrder(func(it *modelItem) bool { return it.state == Waiting })), fmt.Sprint(c.Waiting()))
	next, some := m.next()
	got, ok := c.Next()
	if p.want("next", some, ok); ok {
		p.want("next", at(next), got)
	}
	p.want("paused", len(m.pauses), len(c.Paused()))
	for _, name := range domainNames {
		if !p.setup.queue {
			p.compareDomain(name)
		}
	}
}

func (p *player) compareDomain(name string) {
	m := p.model
	d := m.domains[name]
	st, ok := p.subject.g.Domain(name)
	if p.want("domain "+name, d != nil, ok); !ok {
		return
	}
	counts := [Finished + 1]int{}
	for _, it := range m.items {
		if it.domain == name {
			counts[it.state]++
		}
	}
	p.want("rate of "+name, max(quarter[d.rate], 0), st.Rate)
	p.want("counts of "+name, counts, [Finished + 1]int{Waiting: st.Waiting, InFlight: st.InFlight, Finished: st.Finished})
	p.want("pauses of "+name, len(d.pauses), len(st.Paused))
	bound := m.bound
	m.bound = unbounded // the domain's own Next does not know of it
	next, some := int64(math.MaxInt64), false
	for _, key := range m.waiting(name) {
		if at, ok := d.next(max(m.now, m.items[key].due)); ok {
			next, some = min(next, at), true
		}
	}
	m.bound = bound
	if p.want("next of "+name, some, !st.Next.IsZero()); some && st.Next.After(p.subject.clk.Now()) {
		p.want("next of "+name, at(next), st.Next)
	}
}

func TestOperationsAgainstTheModel(t *testing.T) {
	const life = 1000
	for _, isQueue := range []bool{true, false} {
		for seed := range uint64(max(*operationsFlag/life, 1)) {
			newPlayer(t, &seededChoices{state: seed * 7919, left: life}, isQueue).play()
		}
	}
}

func FuzzOperations(f *testing.F) {
	for seed := range uint64(20) {
		c := &seededChoices{state: seed}
		ops := make([]byte, 300)
		for i := range ops {
			ops[i] = byte(c.below(256))
		}
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 2000 {
			ops = ops[:2000]
		}
		for _, isQueue := range []bool{true, false} {
			newPlayer(t, &bytesChoices{ops}, isQueue).play()
		}
	})
}
