package evictor_test

import (
	"math/rand"
	"slices"
	"time"
)

// livesBrake is two nodes of a zone that fail, and harm that is not permitted when their pods are due, or a
// store that goes back, a Ready condition that is lost between two evictions, a node that moves while it waits.
func livesBrake(random *rand.Rand, plan livesPlan) []livesEvent {
	first, which, a, c := random.Intn(plan.Nodes), random.Intn(12), random.Intn(1<<16), random.Intn(1<<16)
	at := time.Duration(random.Intn(800)) * time.Second
	shut := at + time.Duration(45+random.Intn(60))*time.Second
	open := shut + time.Duration(20+random.Intn(300))*time.Second
	fail := []livesEvent{{at: at, kind: "kill", a: first}, {at: at, kind: "kill", a: first + plan.Zones}}
	switch which {
	case 6, 7, 8:
		return append(fail, livesRelease(random, plan, first, at, a)...)
	case 9, 10, 11:
		return append(fail, livesBraked(random, first, at)...)
	case 3:
		return append(fail, livesEvent{at: shut, kind: "back", b: 3599, c: 1}) // of the pods
	case 4:
		return []livesEvent{{at: at, kind: "notready", a: first}, {at: shut, kind: "loseready", amid: !plan.Run}}
	case 5: // the second waits when it moves to where another waits
		return append(fail, livesEvent{at: at, kind: "kill", a: first + 1}, livesEvent{at: at, kind: "kill", a: first + 1 + plan.Zones},
			livesEvent{at: at + 51*time.Second, kind: "movezone", a: first + plan.Zones, b: first + 1})
	}
	return append(fail, []livesEvent{
		{at: shut, kind: []string{"pause", "fence", "policy"}[which%3], a: a, b: 1, c: c}, {at: open, kind: []string{"resume", "fence", "policy"}[which%3], a: a, b: 3, c: c},
	}...)
}

// livesRelease is more nodes that fail, a pause while their pods fall due, and a restart or a take-over in the pause or in
// the release that follows, in which the overdue pods leave at the zone's rate.
func livesRelease(random *rand.Rand, plan livesPlan, first int, at time.Duration, a int) (events []livesEvent) {
	for i := range 2 + random.Intn(3) {
		events = append(events, livesEvent{at: at, kind: "kill", a: first + (2+i)*plan.Zones})
	}
	shut := at + time.Duration(60+random.Intn(120))*time.Second
	open := shut + time.Duration(60+random.Intn(200))*time.Second
	reasons := []livesEvent{{at: shut, kind: "pause", b: 1, c: 1}, {at: open, kind: "resume", b: 1, c: 1}}
	if random.Intn(3) == 0 {
		reasons = []livesEvent{{at: shut, kind: "fence", c: 1}, {at: open, kind: "fence", c: 1}}
	}
	kinds := []string{"restart", "restart", "restart", "takeover", "lead", "restore"}
	for range 1 + random.Intn(2) {
		events = append(events, livesEvent{at: open + time.Duration(random.Intn(150)-90)*time.Second, kind: kinds[random.Intn(len(kinds))], a: a, b: random.Intn(1 << 16)})
	}
	return append(events, reasons...)
}

// livesBraked is brakes of all kinds on nodes that have failed, which open and close in any order, and kubelets that come
// back meanwhile.
func livesBraked(random *rand.Rand, first int, at time.Duration) (events []livesEvent) {
	kinds := []string{"pause", "resume", "pause", "resume", "fence", "hold", "release", "blind", "blind", "turns", "policy", "lead", "lead", "revive", "kill", "killall", "reviveall", "holdlabel", "restart"}
	for range 4 + random.Intn(8) {
		event := livesEvent{at: at + time.Duration(random.Intn(400))*time.Second, kind: kinds[random.Intn(len(kinds))], a: first, b: random.Intn(1 << 16), c: random.Intn(1 << 16)}
		events = append(events, event)
	}
	return events
}

// switches restarts every process with the other setting of TaintBasedEviction. Under Run an old process may still write.
func (w *livesWorld) switches() {
	if w.plan.Run {
		return
	}
	w.plan.Taints = !w.plan.Taints
	w.config.Nodes.TaintBasedEviction = w.plan.Taints
	for _, p := range slices.Clone(w.processes) {
		w.restart(p)
	}
}

// turns changes what a machine is like. Of those that come back many are not ready for a while.
func (w *livesWorld) turns(machine *livesMachine, e livesEvent) {
	back := machine.state == "dead" && livesStates[e.kind] == "alive"
	machine.state, machine.well = livesStates[e.kind], time.Time{}
	if back && e.b%2 == 0 {
		machine.state, machine.well = "notready", w.now.Add(time.Duration(1+e.b/2%90)*time.Second)
	}
}

var livesStates = map[string]string{"kill": "dead", "killzone": "dead", "killall": "dead", "notready": "notready",
	"revive": "alive", "revivezone": "alive", "reviveall": "alive"}
