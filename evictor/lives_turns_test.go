package evictor_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// Turns: the Gate is asked about each, and what came of it is what came of its own act: the taint or, without taints, the
// deletions. It says nothing of conditions, labels and marks.

// livesTurn is a node's turn as a process may know it.
type livesTurn struct {
	granted time.Time // when the Gate said yes
	tried   time.Time // when an act was last sent of which nobody knows whether it was done, zero for none
	done    bool
	told    bool             // that it is over
	pods    []evictor.PodRef // without taints: those that it tried to delete; nobody knows which were
	loose   bool             // the node has recovered, was held, or the like: it may be over, or not
}

// mayTurn is the program's say about turns.
func (p *livesProcess) mayTurn(act gate.Act) error {
	w, m := p.world, p.mind
	w.enter()
	defer w.mu.Unlock()
	what := "asking about the turn of " + act.Node
	m.may(what, func(m *livesMind) string { return m.asksTurn(act.Node) })
	w.asked(act.Node)
	err := w.refusesTurn(act.Node, p.wall())
	w.logf("  p%d %s: %v", p.slot, what, err)
	was := m.turns[act.Node]
	if delete(m.turns, act.Node); err == nil {
		m.turns[act.Node] = &livesTurn{granted: w.now}
		if was != nil && !w.plan.Taints { // for what is left of its pods
			m.turns[act.Node].done, m.turns[act.Node].pods = was.done && !was.loose, was.pods
		}
		if m.nodes[act.Node] != nil && !m.conflicts[act.Node] {
			delete(m.turn, act.Node) // another one, which costs a token
		}
	}
	return err
}

// refusesTurn is why a node may not have its turn now. Who is refused follows from the time and the name.
func (w *livesWorld) refusesTurn(node string, wall time.Time) error {
	lived := w.now.Sub(livesBegin.Add(time.Hour))
	if w.choose(1, func(int) string { return "the Gate refuses a turn of " + node }) == 1 {
		return &gate.Refused{Reason: "NotThisNode"}
	}
	if w.plan.Choices != nil || lived >= livesActive {
		return nil
	}
	if w.now.Before(w.turnsShut) {
		return errors.New("no turns for now")
	}
	const spell = 90 * time.Second
	h := fnv.New64()
	fmt.Fprint(h, node, lived/spell)
	x := livesMix(h.Sum64())
	if !w.plan.Turns || x%3 > 0 {
		return nil
	}
	refusal := &gate.Refused{Reason: "NotThisNode"}
	if x>>16%2 == 0 {
		refusal.Again = wall.Add(spell - lived%spell)
	}
	return refusal
}

// asksTurn judges that a turn is asked about.
func (m *livesMind) asksTurn(node string) string {
	if m.world.midst.Equal(m.world.now) { // something happened while another question was asked: a look follows the last answer
		return ""
	}
	known, turn := m.nodes[node], m.turns[node]
	if known == nil || m.process.seenNodes[node] == nil {
		return "turn of a node that the store does not show"
	}
	own, _ := livesNoExecute(known.object.Spec.Taints)
	return livesRules{
		{"turn of a node that carries our taint", m.world.plan.Taints && len(own) > 0},
		{"turn of a node that is held", m.held(known)},
		{"turn of a node that has not failed", m.failed(known) != "" && m.world.now.Sub(livesLater(known.beat, known.changed)) > m.world.config.Nodes.NodeMonitorPeriod},
		{"turn while all are down", !m.downSince.IsZero()},
		{"turn asked about though nobody knows what came of the last", turn != nil && !turn.loose && !turn.done && !turn.tried.IsZero() && m.world.now.Sub(turn.tried) < m.grace()},
	}.first()
}

// unasked says whether a node is acted on without a turn. What was never sent, or certainly not done, is asked about again.
func (m *livesMind) unasked(node string) bool {
	turn := m.turns[node]
	switch {
	case turn == nil:
		return true
	case turn.loose || turn.done && !m.world.plan.Taints || !turn.tried.IsZero():
		return false
	}
	return turn.done || m.world.now.Sub(turn.granted) > m.stretch()
}

// stretch is for how long a try may last. Under Step no time passes within one.
func (m *livesMind) stretch() time.Duration {
	switch {
	case m.world.plan.Run:
		return 40 * time.Second // its conditions are written first, and that may be slow
	case !m.world.plan.Taints:
		return 10 * time.Second // pods wait until its conditions are shown
	}
	return 0
}

// acted is told what came of an act of a turn: of its taint or, without taints, of the eviction of a pod.
func (m *livesMind) acted(node string, err error, pods ...evictor.PodRef) {
	turn := m.turns[node]
	if turn != nil && err != nil && !livesCertain(err) {
		turn.pods = append(turn.pods, pods...)
	}
	switch {
	case turn == nil:
	case err == nil:
		turn.done, turn.tried = true, time.Time{}
	case m.world.plan.Taints && livesCertain(err) && turn.tried.IsZero(): // else that says nothing of the try before
		delete(m.turns, node)
	case !livesCertain(err) && !turn.done:
		turn.tried = m.world.now
	}
}

// turnsLoosen: what voids a turn may also leave it.
func (m *livesMind) turnsLoosen() {
	for name, turn := range m.turns {
		known := m.nodes[name]
		if known == nil {
			delete(m.turns, name)
			continue
		}
		own, _ := livesNoExecute(known.object.Spec.Taints)
		recovered := known.good.After(turn.granted) || known.first.After(turn.granted) || m.held(known) || !m.downSince.IsZero() || m.process.blind != nil || m.trouble.After(m.world.now) && m.troubles == "own panic"
		if recovered || len(own) > 0 || m.world.plan.domain(known.object) != known.domain {
			turn.loose = true
		}
		if !m.world.plan.Run && turn.tried.IsZero() && !turn.done && !turn.loose && m.world.now.Sub(turn.granted) >= m.stretch() { // nothing was sent
			delete(m.turns, name)
		}
	}
}

// turnEnds judges what is told of a turn's end.
func (m *livesMind) turnEnds(d evictor.NodeDecision) {
	if d.Kind != nodelifecycle.TurnEnded {
		return
	}
	turn, known := m.turns[d.Node], m.nodes[d.Node]
	if turn == nil || known == nil || d.Reason == "Spent" && turn.granted.Equal(m.world.now) { // or it is the end of the one before
		return
	}
	if twice := turn.told && d.Reason != "Undone"; twice {
		m.wrong("a turn is told to be over twice", "%s: %s, %+v", d.Node, d.Reason, *turn)
	}
	if turn.told = true; turn.loose {
		return
	}
	own, _ := livesNoExecute(known.object.Spec.Taints)
	shown := m.world.plan.Taints && len(own) > 0
	turn.done = turn.done || shown && d.Reason == "Served"
	for _, ref := range turn.pods { // a deletion of which nobody knew is seen, so that the turn was for something
		pod := m.process.seenPods[ref.Name]
		leaves := pod == nil || pod.UID != ref.UID || pod.DeletionTimestamp != nil
		turn.done = turn.done || leaves && d.Reason == "Served"
	}
	m.wrong(livesRules{
		{"a turn is told to be spent of which nobody knows what came", d.Reason == "Spent" && !turn.tried.IsZero() && !turn.done && !shown && m.world.now.Sub(turn.tried) < m.grace()},
		{"a turn is told to be spent that was served", d.Reason == "Spent" && turn.done && m.world.plan.Taints},
	}.first(), "%s: %s, %+v", d.Node, d.Reason, *turn)
}

// asked has something happen while a question is answered: what the evictor looked at before may differ afterwards.
func (w *livesWorld) asked(node string) {
	if option := w.choose(2*len(worldsAmid), func(option int) string { return worldsAmidWords(option-1, "a question about "+node) }); option > 0 && !w.plan.Run {
		w.chooseAmid(option-1, true)
	}
	i := slices.IndexFunc(w.amid, func(e livesEvent) bool { return e.ofQuestion() })
	if i < 0 || w.plan.Run {
		return
	}
	event := w.amid[i]
	w.amid = slices.Delete(w.amid, i, i+1)
	w.logf("EVENT %s, a question", event)
	w.about, w.midst = node, w.now
	w.happens(event)
}

// ofQuestion says whether an event that happens in the middle of a Step does while the Gate is asked. What the Gate was
// asked about before may change meanwhile; nobody asks twice.
func (e livesEvent) ofQuestion() bool {
	closes := slices.Contains([]string{"pause", "resume", "fence", "policy", "lead", "turns", "fault", "kick", "budget"}, e.kind)
	return e.kind == "blind" || !closes && e.c/3%3 == 0
}
