package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
)

// In some lives the program refuses evictions: Options.MayEvict. Who is refused follows from the time and the pod's UID,
// so nothing of it has to be remembered.

// livesSpell is how long the program keeps to what it says of a pod.
const livesSpell = 200 * time.Second

func newLivesMay(seed int64) bool { return rand.New(rand.NewSource(^seed)).Intn(4) == 0 }

// refusal is what a program says of a pod now. Half of its refusals name the time at which they end.
func (w *livesWorld) refusal(pod types.UID, wall time.Time) error {
	lived := w.now.Sub(livesBegin.Add(time.Hour))
	if lived >= livesActive {
		return nil
	}
	h := fnv.New64()
	fmt.Fprint(h, pod, lived/livesSpell)
	x := livesMix(h.Sum64())
	refusal := &evictor.Refusal{Reason: fmt.Sprint("reason ", x>>8%2)}
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
	permitted, asked, next time.Time // when it was last permitted, and last asked; before next it need not be asked
	times                  int       // refusals in a row
	reported               string    // the reason as observers know it
}

// mayEvict is the program. What is asked last may be judged like the eviction itself.
func (p *livesProcess) mayEvict(_ context.Context, pod *v1.Pod, why evictor.Decision) error {
	w, m := p.world, p.mind
	w.enter()
	defer w.mu.Unlock()
	what, condemned := "asking about "+pod.Name, why.Pod
	if why.With.Name != "" {
		condemned = why.With
		what += " with " + why.With.Name
	}
	if !w.plan.Dry {
		m.may(what, func(m *livesMind) string { return m.evicts(condemned, why) })
		m.evicting(condemned)
	}
	err := w.refusal(pod.UID, p.wall())
	w.logf("  p%d %s: %v", p.slot, what, err)
	m.of(why.Pod, func(known *livesPod) {
		if why.With.Name != "" { // on behalf of another, which waits
			if known.permitted = w.now; err != nil {
				known.permitted = time.Time{}
				m.askedBy[condemned.UID] = livesLater(m.askedBy[condemned.UID], w.now.Add(w.config.RetryMax))
			}
			return
		}
		if w.now.Before(known.next) && m.kicked.Before(known.asked) {
			m.wrong("asked again too soon", "%s, and not at %s", what, livesSince(known.next))
		}
		if known.asked, known.permitted = w.now, w.now; err == nil {
			known.times, known.next = 0, time.Time{}
			return
		}
		known.permitted, known.times = time.Time{}, known.times+1
		known.next = w.now.Add(min(w.config.RetryMax, w.config.GateInterval<<(known.times-1)))
		var refusal *evictor.Refusal
		if errors.As(err, &refusal) && !refusal.Again.IsZero() {
			known.next = w.now.Add(refusal.Again.Sub(p.wall()))
		}
		m.askedBy[pod.UID] = livesLater(m.askedBy[pod.UID], known.next)
	})
	if err != nil && !w.plan.Dry {
		m.emptied(condemned.Node, err)
	}
	return err
}

// forgetsRefusals: what is remembered of pods goes with their node.
func (m *livesMind) forgetsRefusals(node string) {
	for name, known := range m.pods {
		if known.Spec.NodeName == node {
			known.livesRefused = livesRefused{permitted: known.permitted}
			m.pods[name] = known
		}
	}
}

// reports judges that a refusal is reported once, unless something else is reported of the pod's eviction.
func (m *livesMind) reports(d evictor.Decision) {
	if d.Kind == evictor.NodeVerdict && d.To == v1.ConditionTrue {
		for name, known := range m.pods {
			if known.Spec.NodeName == d.Node {
				known.reported = ""
				m.pods[name] = known
			}
		}
	}
	m.of(d.Pod, func(known *livesPod) {
		before := known.reported
		if known.reported = ""; d.Kind != evictor.EvictionDelayed || d.Reason != "MayEvict" && d.Reason != "Together" {
			return
		}
		if known.reported = d.Reason + d.Err.Error(); before == known.reported {
			m.wrong("told twice", "%v", d)
		}
	})
}
