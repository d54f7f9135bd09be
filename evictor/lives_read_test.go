package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"time"

	"github.com/evictkit/evictkit/evictor/leases"
)

// In many lives the watch of leases loses what it should deliver, and the API server sometimes does not say what it has.
// Nothing is done to a node whose lease was not read since it fell silent.

// livesLoses adds to a life that the events of some leases get lost, and that no lease can be read for a while.
func livesLoses(plan *livesPlan, random *rand.Rand) {
	if plan.Confirms = random.Intn(3) > 0; !plan.Confirms {
		return
	}
	for range random.Intn(8) {
		event := livesEvent{at: time.Duration(random.Intn(int(livesActive/time.Second))) * time.Second, a: random.Intn(1 << 16), b: random.Intn(1 << 16), c: random.Intn(1 << 16)}
		event.kind = []string{"deafen", "deafen", "mute"}[random.Intn(3)]
		plan.Events = append(plan.Events, event)
	}
}

// readEvent is one of these.
func (w *livesWorld) readEvent(name string, e livesEvent) {
	p := w.processes[e.c%len(w.processes)]
	switch e.kind {
	case "deafen":
		p.deaf[name] = w.now.Add(time.Duration(1+e.b%400) * time.Second)
	case "mute":
		p.mute = w.now.Add(time.Duration(1+e.b%300) * time.Second)
	}
}

// readLease reads a lease live.
func (p *livesProcess) readLease(ctx context.Context, name string) (lease leases.Lease, err error) {
	w := p.world
	w.enter()
	if w.judge.asks++; w.plan.Run {
		wait := time.Duration(livesMix(uint64(w.judge.asks))%8) * 40 * time.Millisecond
		w.mu.Unlock()
		if livesSleep(ctx, wait) {
			return lease, ctx.Err()
		}
		w.enter()
	}
	defer w.mu.Unlock()
	known, machine := p.mind.nodes[name], w.machines[name]
	if w.choose(1, func(int) string { return "the lease of " + name + " cannot be read" }) == 1 || w.now.Before(p.mute) {
		p.mind.disturbed("own unanswered")
		return lease, errors.New("the API server does not say")
	}
	if machine != nil && machine.leases && !machine.renew.IsZero() {
		lease = leases.Lease{RenewTime: machine.renew, ResourceVersion: fmt.Sprint(machine.lease)}
		p.mind.renewed(name, machine.renew, machine.lease)
	}
	if known != nil && known.beat.Before(w.now) {
		known.confirmed, known.fell = true, known.fell || known.silent
	}
	return lease, nil
}

// unconfirmed says whether a node's verdict cannot be Unknown because nobody has said that it is silent. Who is first seen
// when its start-up grace period is over already is Unknown at once, and settles later.
func (m *livesMind) unconfirmed(known *livesNode) bool {
	return m.world.plan.Confirms && !known.confirmed && (known.reported || known.first.Before(m.world.now))
}
