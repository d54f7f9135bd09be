package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// In some lives the program refuses evictions: a Gate. Who is refused follows from the time and the pod's UID,
// so nothing of it has to be remembered.

// livesSpell is how long the program keeps to what it says of a pod.
const livesSpell = 200 * time.Second

func newLivesMay(seed int64) bool { return rand.New(rand.NewSource(^seed)).Intn(4) == 0 }

// refusal is what a program says of a pod now. Half of its refusals name the time at which they end.
func (w *livesWorld) refusal(pod types.UID, wall time.Time) error {
	lived := w.now.Sub(livesBegin.Add(time.Hour))
	if w.plan.Choices != nil {
		if w.choose(1, func(int) string { return "the Gate refuses a pod" }) == 1 {
			return &gate.Refused{Reason: "NotThisPod"}
		}
		return nil
	}
	if lived >= livesActive {
		return nil
	}
	h := fnv.New64()
	fmt.Fprint(h, pod, lived/livesSpell)
	x := livesMix(h.Sum64())
	refusal := &gate.Refused{Reason: fmt.Sprint("reason ", x>>8%2)}
	if x>>16%2 == 0 {
		refusal.Again = wall.Add(livesSpell - lived%livesSpell)
	}
	if x%3 > 0 {
		return nil
	}
	return fmt.Errorf("pod %s: %w", pod, refusal)
}

// livesRefused is what a process was told by the program about a pod.
type livesRefused struct {
	asked, next time.Time // when it was last asked; before next it need not be asked
	times       int       // refusals in a row
	direct      bool      // it was asked because the node is emptied
	reported    string    // the reason as observers know it
}

// mayEvict is the program. What is asked last may be judged like the eviction itself.
func (p *livesProcess) mayEvict(_ context.Context, pod *v1.Pod, why taints.Deadline) error {
	w, m := p.world, p.mind
	w.enter()
	defer w.mu.Unlock()
	what, ref := "asking about "+pod.Name, cluster.RefOf(pod)
	if !w.midst.Equal(w.now) { // else something happened while another question was asked, and a look follows the last answer
		m.may(what, func(m *livesMind) string { return m.evicts(ref, why) })
	}
	m.evicting(ref, true)
	w.asked(ref.Node)
	err := w.refusal(pod.UID, p.wall())
	w.logf("  p%d %s: %v", p.slot, what, err)
	if m.permitted[ref.UID] = w.now; err != nil {
		delete(m.permitted, ref.UID)
	}
	m.of(ref, func(known *livesPod) {
		if known.direct != (why.Taint == nil) { // each half asks its own question
			known.livesRefused = livesRefused{reported: known.reported, direct: why.Taint == nil}
		}
		if w.now.Before(known.next) && m.kicked.Before(known.asked) {
			m.wrong("asked again too soon", "%s, and not at %s", what, livesSince(known.next))
		}
		if known.asked = w.now; err == nil {
			known.times, known.next = 0, time.Time{}
			return
		}
		known.times++
		known.next = w.now.Add(min(w.config.Nodes.RetryMax, w.config.Nodes.GateInterval<<(known.times-1)))
		var refusal *gate.Refused
		if errors.As(err, &refusal) && !refusal.Again.IsZero() {
			known.next = w.now.Add(refusal.Again.Sub(p.wall()))
		}
		m.askedBy[pod.UID] = livesLater(m.askedBy[pod.UID], known.next)
	})
	if err != nil {
		m.emptied(ref, why.Taint == nil, err)
	}
	return err
}

// forgetsRefusals: what is remembered of pods goes with their node, and with its verdict.
func (m *livesMind) forgetsRefusals(node string) {
	for name, known := range m.pods {
		if known.Spec.NodeName == node {
			known.livesRefused = livesRefused{}
			m.pods[name] = known
		}
	}
}

// reports judges that a refusal is reported once, unless something else is reported of the pod's eviction.
func (m *livesMind) reports(d decision) {
	switch d.Kind {
	case "NodeVerdict", "NodeQueued": // what follows from it is another question
		m.forgetsRefusals(d.Node)
	case "AllZonesDownEnded": // clocks restart, whether or not we know that all were down
		m.unsettled = m.world.now
	case "AllZonesDown": // and so is what follows once some zone is not
		for name := range m.nodes {
			m.forgetsRefusals(name)
		}
	case "NodeEmptied":
		if known := m.nodes[d.Node]; known != nil && d.Reason == "NoPods" { // it had its turn, and nobody was asked about it
			known.emptied = true
			m.turns[d.Node] = &livesTurn{granted: m.world.now, done: true}
			m.paced(d.Node, known.domain, true)
		}
	}
	m.of(d.Pod, func(known *livesPod) {
		if d.Kind == "EvictionCancelled" || d.Kind == "EvictionDelayed" && !strings.HasPrefix(d.Reason, "reason ") { // that ends a row
			known.times, known.next = 0, time.Time{}
		}
		if d.Kind == "EvictionCancelled" { // what makes it due again is another question
			known.later = time.Time{}
		}
		before := known.reported
		if known.reported = ""; d.Kind != "EvictionDelayed" && d.Kind != "PodDelayed" || !strings.HasPrefix(d.Reason, "reason ") {
			return
		}
		if known.reported = string(d.Kind) + d.Reason + d.Err.Error(); before == known.reported {
			m.wrong("told twice", "%v", d)
		}
	})
}
