package clientgo

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
	"github.com/evictkit/evictkit/evictor/gate"
)

// A disruption budget that refuses is asked again after these times: after the first, after twice as long each time, and at
// most after the second.
const (
	leastBudgetWait = time.Second
	mostBudgetWait  = time.Minute
)

// budgets remembers which disruption budgets refuse, so that one pod of each is asked about, and not all of them. Nothing
// watches budgets: the answers name them, and what a budget has said of a pod goes for all pods of the pod's controller.
type budgets struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	refusing map[disruptionBudget]*refusing // guarded by mu
	of       map[workload]*selected         // guarded by mu: of those that are in refusing
	sweepAt  int                            // guarded by mu: how many may be in of before old ones are forgotten
}

// selected says that a budget has refused a pod of a workload.
type selected struct {
	by    disruptionBudget
	until time.Time // for which one of its pods was last told to wait
}

// disruptionBudget is a budget, for its Ready pods or for the others, about which it may say something else.
type disruptionBudget struct {
	namespace, name string
	ready           bool
}

// workload is a controller's pods, or one pod that has none; those that are Ready, or the others.
type workload struct {
	uid   types.UID
	ready bool
}

// refusing is what a budget has said last.
type refusing struct {
	err    error  // about the pod that was asked about
	text   string // the same in the API server's words, which change when the budget's status does
	since  time.Time
	wait   time.Duration
	until  time.Time
	asking bool // a pod is asked about right now
}

// workloadOf returns the workload of a pod, as the store shows it.
func workloadOf(p *v1.Pod) workload {
	ready := slim.Condition(p.Status.Conditions, v1.PodReady)
	w := workload{p.UID, ready != nil && ready.Status == v1.ConditionTrue}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		w.uid = owner.UID
	}
	return w
}

// ask calls evict, unless the budget of these pods refuses and its next time has not come, or one of them is asked about.
func (b *budgets) ask(of workload, namespace string, evict func() error) error {
	asked, no := b.begin(of)
	if no != nil {
		return no
	}
	defer b.end(asked)
	began := b.clock.Now()
	err := evict()
	switch {
	case err == nil:
		b.permitted(of, began)
	case budget(err):
		return b.refused(of, namespace, began, err)
	}
	return err
}

// begin returns what the workload's budget said last, nil if nothing, and a refusal if the pod is not to be asked about now.
func (b *budgets) begin(of workload) (*refusing, error) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.last(of)
	var until time.Time
	switch {
	case r == nil:
		return nil, nil
	case now.Before(r.until):
		until = r.until
	case r.asking:
		until = now.Add(leastBudgetWait)
	default:
		r.asking = true
		return r, nil
	}
	b.of[of].until = until
	return nil, refusedUntil(until, fmt.Errorf("its disruption budget has refused another pod: %s", r.text))
}

// last is what the workload's budget said last, nil if it does not refuse or is not known. It is called with mu held.
func (b *budgets) last(of workload) *refusing {
	if s := b.of[of]; s != nil {
		return b.refusing[s.by]
	}
	return nil
}

// end ends the question that began with that. The answer may have named another budget.
func (b *budgets) end(asked *refusing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if asked != nil {
		asked.asking = false
	}
}

// permitted is called when a pod was evicted: the others may be asked about at once.
func (b *budgets) permitted(of workload, began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.last(of); r != nil && began.After(r.since) {
		delete(b.refusing, b.of[of].by)
	}
}

// refused returns the refusal, and until when it goes for the others, too. An answer to what was asked before the budget's
// next time says nothing new, unless its text does.
func (b *budgets) refused(of workload, namespace string, began time.Time, err error) error {
	cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	now, by := b.clock.Now(), disruptionBudget{namespace, nameIn(cause.Message, of), of.ready}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep(now)
	r := b.refusing[by]
	if r == nil || now.Sub(r.until) > mostBudgetWait {
		r = &refusing{}
		b.refusing[by] = r
	}
	if changed := r.text != cause.Message; changed || !began.Before(r.until) {
		if r.wait = min(2*r.wait, mostBudgetWait); changed || r.wait == 0 {
			r.wait = leastBudgetWait
		}
		wait := r.wait
		if seconds, asks := apierrors.SuggestsClientDelay(err); asks {
			wait = max(wait, time.Duration(seconds)*time.Second)
		}
		r.err, r.text, r.since, r.until = err, cause.Message, now, now.Add(wait)
	}
	b.of[of] = &selected{by, r.until}
	return refusedUntil(r.until, err)
}

// sweep forgets whom nobody wants to evict any more. It is called with mu held.
func (b *budgets) sweep(now time.Time) {
	const least = 1024
	if b.of == nil {
		b.refusing, b.of = make(map[disruptionBudget]*refusing), make(map[workload]*selected)
	}
	if len(b.of) < max(b.sweepAt, least) {
		return
	}
	old := func(until time.Time) bool { return now.Sub(until) > mostBudgetWait }
	maps.DeleteFunc(b.refusing, func(_ disruptionBudget, r *refusing) bool { return old(r.until) })
	maps.DeleteFunc(b.of, func(_ workload, s *selected) bool { return old(s.until) })
	b.sweepAt = 2 * len(b.of)
}

// askAgain lets all be asked about at once.
func (b *budgets) askAgain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.refusing)
}

// refusedUntil is the refusal of a pod by its budget.
func refusedUntil(again time.Time, err error) error {
	return &gate.Refused{Reason: string(policyv1.DisruptionBudgetCause), Again: again, Err: err}
}

// nameIn returns the name of the budget that a cause's message begins with, or a name of the workload's own if there is none.
func nameIn(message string, of workload) string {
	if rest, ok := strings.CutPrefix(message, "The disruption budget "); ok {
		if name, _, ok := strings.Cut(rest, " "); ok {
			return name
		}
	}
	return " " + string(of.uid)
}
