package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// In many lives the watch of leases loses what it should deliver, and the API server sometimes does not say what it has.
// No node is Unknown whose lease, as the API server has it, is fresher than its grace.

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

// confirmEvent is one of these.
func (w *livesWorld) confirmEvent(name string, e livesEvent) {
	p := w.processes[e.c%len(w.processes)]
	switch e.kind {
	case "deafen":
		p.deaf[name] = w.now.Add(time.Duration(1+e.b%400) * time.Second)
	case "mute":
		p.mute = w.now.Add(time.Duration(1+e.b%300) * time.Second)
	}
}

// Confirm implements evictor.Confirmer.
func (p *livesProcess) Confirm(ctx context.Context, suspect evictor.Suspect) (evictor.Answer, error) {
	w := p.world
	w.enter()
	if w.judge.asks++; w.plan.Run {
		wait := time.Duration(livesMix(uint64(w.judge.asks))%8) * 40 * time.Millisecond
		w.mu.Unlock()
		if livesSleep(ctx, wait) {
			return evictor.Unanswered, ctx.Err()
		}
		w.enter()
	}
	defer w.mu.Unlock()
	known, machine := p.mind.nodes[suspect.Node], w.machines[suspect.Node]
	switch {
	case w.now.Before(p.mute):
		p.mind.disturbed("own unanswered")
		return evictor.Unanswered, errors.New("the API server does not say")
	case known != nil && known.object.UID == suspect.UID && !w.plan.Run && !p.mind.setBack && !p.mind.isSilent(known) && !p.mind.mayBeSilent(known):
		p.mind.wrong("asked about a node that beats", "%s", suspect.Node)
	}
	if machine != nil && machine.leases && !machine.renew.IsZero() {
		answer := suspect.Lease(machine.renew, fmt.Sprint(machine.lease))
		p.mind.renewed(suspect.Node, machine.renew, machine.lease)
		if answer == evictor.Alive {
			return answer, nil
		}
	}
	if known != nil {
		known.confirmed, known.silent, known.fell = true, true, true
		p.mind.timesOut(known)
	}
	return evictor.Silent, nil
}

// confirmed judges a verdict: the API server knows no fresher lease.
func (m *livesMind) confirmed(d evictor.Decision) {
	w := m.world
	if !w.plan.Confirms || d.Kind != evictor.NodeVerdict || d.To != v1.ConditionUnknown || d.Silence == 0 {
		return
	}
	machine, known := w.machines[d.Node], m.nodes[d.Node]
	if machine == nil || !machine.leases || known == nil {
		return
	}
	if age := w.now.Sub(machine.renew); age < m.grace() && !(w.plan.Run && age <= w.slack) {
		m.wrong("a fresh lease", "%s is Unknown, and its lease is %s old", d.Node, age)
	}
	if !known.confirmed {
		m.wrong("a verdict without an answer", "%v", d)
	}
}

// unconfirmed says whether a node's verdict cannot be Unknown because nobody has said that it is silent.
func (m *livesMind) unconfirmed(known *livesNode) bool {
	return m.world.plan.Confirms && !known.confirmed
}
