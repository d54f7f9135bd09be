package ratelimitqueue

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/internal/slots"
)

var operationsFlag = flag.Int("operations", 60_000, "how many random operations are compared with the model, for a queue and for a group each")

// held is an item that a holder may or may not have ended. Ending it twice has no effect.
type held struct {
	item   groupItem
	holder int
	from   *modelDomain
}

// player plays operations on a subject and on the model, and compares after each.
type player struct {
	testing.TB
	choices
	setup   setup
	subject *subject
	model   *model
	held    []held
	value   int
	log     []string
	count   int
}

var (
	keyNames    = []string{"a", "b", "c", "d", "e", "f", "g"}
	domainNames = []string{"p", "q", "r"}
	quarter     = map[int64]rate.Limit{endless: rate.Inf, 0: 0, 1: 0.25, 2: 0.5, 4: 1, 8: 2}
)

func newPlayer(t testing.TB, c choices, isQueue bool) *player {
	p := &player{TB: t, choices: c}
	rate := pick[int64](c, 1, 4, 8, endless, 0)
	maxRate := pick[int64](c, 0, 0, 4, 8)
	p.setup = setup{queue: isQueue, rate: quarter[rate], burst: pick(c, 1, 1, 3)}
	if isQueue {
		maxRate = 0
	} else {
		p.setup.maxRate, p.setup.prefer = max(quarter[maxRate], 0), c.below(3) == 0
	}
	p.model = newModel(isQueue, rate, int64(p.setup.burst), maxRate)
	p.subject = p.setup.make(t, epoch, false)
	return p
}

func (p *player) note(format string, args ...any) {
	p.count++
	if p.log = append(p.log, fmt.Sprintf(format, args...)); len(p.log) > 60 {
		p.log = slices.Delete(p.log, 0, 20)
	}
}

func (p *player) want(what string, want, got any) {
	if want != got {
		p.Helper()
		for _, line := range p.log {
			p.Log(line)
		}
		p.Fatalf("operation %d: %s: %v, by the model %v", p.count, what, got, want)
	}
}

// domain returns a domain that the subject may or may not know.
func (p *player) domain() string {
	if p.setup.queue {
		return "p"
	}
	return pick(p.choices, domainNames...)
}

func (p *player) play() {
	for p.more() {
		p.operation()
		p.model.tidy()
		p.compare()
	}
}

func (p *player) operation() {
	switch p.below(20) {
	case 0, 1, 2, 3:
		p.add()
	case 4, 5, 6:
		p.take()
	case 7, 8, 9, 10:
		p.end()
	case 11, 12, 13:
		d := time.Duration(1+p.below(20)) * 125 * time.Millisecond
		p.note("step %s", d)
		p.subject.clk.Pass(d)
		p.model.now += int64(d)
	case 14:
		key := pick(p.choices, keyNames...)
		p.note("remove %s", key)
		p.want("remove", p.model.remove(key), p.subject.core().Remove(key))
	case 15:
		p.setRate()
	case 16:
		if p.below(2) == 0 {
			p.clear()
		}
	default:
		if !p.setup.queue {
			p.ofGroup()
		}
	}
}

func (p *player) add() {
	p.value++
	domain := p.domain()
	e := Entry[string, int]{
		Key: pick(p.choices, keyNames...), Value: p.value, OnDuplicate: pick(p.choices, Replace, KeepFirst), Exempt: p.below(6) == 0,
	}
	due := p.model.now
	if in := p.below(8); in > 3 {
		due += int64(in-6) * int64(500*time.Millisecond)
		e.Due = at(due)
	}
	p.note("add %s %+v", domain, e)
	p.want("add", p.model.add(domain, e, due), p.subject.add(domain, e))
}

func (p *player) take() {
	p.note("take")
	item, ok := p.subject.take()
	key := p.model.take(p.setup.prefer)
	p.want("taken", key, item.Key)
	if !ok {
		return
	}
	it := p.model.items[key]
	p.want("domain", it.domain, item.Domain)
	p.want("value", it.value, item.Value)
	p.want("attempts", it.attempts, item.Attempts)
	p.want("due", at(it.due), item.Due)
	p.held = append(p.held, held{item, it.holder, p.model.domains[it.domain]})
}

func (p *player) end() {
	if len(p.held) == 0 {
		return
	}
	i := p.below(len(p.held))
	h := p.held[i]
	if p.below(8) > 0 { // otherwise it is ended once more later
		p.held = slices.Delete(p.held, i, i+1)
	}
	after := time.Duration(p.below(6)-1) * 500 * time.Millisecond
	what := pick(p.choices, slots.Done, slots.Forget, slots.RetryAfter, slots.Blocked)
	p.note("end %s: %d, %s", h.item.Key, what, after)
	switch what {
	case slots.Done:
		h.item.Done()
	case slots.Forget:
		h.item.Forget()
	case slots.RetryAfter:
		h.item.RetryAfter(after)
	case slots.Blocked:
		h.item.Blocked(after)
	}
	p.model.end(h.item.Key, h.holder, h.from, what, after)
}

func (p *player) setRate() {
	rate, domain := pick[int64](p.choices, 0, 1, 2, 4, 8, endless), p.domain()
	p.note("rate of %s: %d quarters", domain, rate)
	d := p.model.domain(domain, p.model.rate)
	d.forgotten = false
	d.setRate(rate, p.model.now)
	require.NoError(p, p.subject.setRate(domain, quarter[rate]))
}
