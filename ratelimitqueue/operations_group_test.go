package ratelimitqueue

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// ofGroup plays what only a group has.
func (p *player) ofGroup() {
	m, g, domain := p.model, p.subject.g, p.domain()
	switch p.below(7) {
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
		d := m.domain(domain, m.rate)
		d.forgotten = false
		d.note(m.now)
		d.frozen = true
		g.PauseDomain(domain)
	case 4, 5:
		p.note("resume domain %s", domain)
		if d := m.domains[domain]; d != nil {
			d.thaw(m.now)
		}
		g.ResumeDomain(domain)
	case 6:
		p.note("forget domain %s", domain)
		if d := m.domains[domain]; d != nil {
			d.forgotten = true
		}
		g.ForgetDomain(domain)
	}
}

// clear clears both.
func (p *player) clear() {
	p.note("clear")
	for key := range p.model.items {
		p.model.remove(key)
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
		p.want("domain of "+key, it.domain, domain)
		p.want("status of "+key, Status{it.state, at(it.added), at(it.due)}, st)
	}
	p.want("waiting", counts[Waiting], c.Len())
	p.want("waiting", fmt.Sprint(m.inOrder(func(it *modelItem) bool { return it.state == Waiting })), fmt.Sprint(c.Waiting()))
	next, some := m.next()
	got, ok := c.Next()
	if p.want("next", some, ok); ok {
		p.want("next", at(next), later(got, at(m.now)))
	}
	for _, name := range domainNames {
		if !p.setup.queue {
			p.compareDomain(name)
		}
	}
}

func (p *player) compareDomain(name string) {
	m := p.model
	m.sweep()
	d := m.domains[name]
	st, ok := p.subject.g.Domain(name)
	if p.want("domain "+name, d != nil, ok); !ok {
		return
	}
	waiting := len(m.inOrder(func(it *modelItem) bool { return it.domain == name && it.state == Waiting }))
	p.want("rate of "+name, max(quarter[d.rate], 0), st.Rate)
	p.want("waiting in "+name, waiting, st.Waiting)
	next, some := int64(math.MaxInt64), false
	for _, key := range m.waiting(name) {
		if at, ok := d.next(max(m.now, m.items[key].due)); ok {
			next, some = min(next, at), true
		}
	}
	if p.want("next of "+name, some, !st.Next.IsZero()); some {
		p.want("next of "+name, at(next), later(st.Next, at(m.now)))
	}
}

// later returns the later instant: the model's next is not before now.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
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
