package twins

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/conformance/controllermanager"
	"github.com/evictkit/evictkit/taints"
)

// ask is somebody's call of the eviction API.
type ask struct {
	at  time.Duration
	pod string // in namespace default
}

// asker asks, and writes the answers down.
type asker struct {
	*recorder
	asks    []ask
	wonders bool // where each pod could go, which changes nothing
	evict   func(pod *v1.Pod) error
}

// Step asks what is due.
func (a *asker) Step(context.Context) (next time.Time, err error) {
	for _, pod := range a.known {
		if a.wonders {
			a.world.Feasible(pod)
		}
	}
	for ; len(a.asks) > 0; a.asks = a.asks[1:] {
		if at := simulation.Epoch.Add(a.asks[0].at); at.After(a.world.Clock().Now()) {
			return at, nil
		}
		l := line{at: a.asks[0].at, what: "evicted: there is no such pod", pod: a.asks[0].pod}
		if pod, ok := a.pods.Pods.Pod(evictor.PodKey{Namespace: "default", Name: l.pod}); ok {
			l.of, l.what = controllermanager.WorkloadOf(pod), "evicted: "+answerOf(a.evict(pod.DeepCopy()))
		}
		a.lines = append(a.lines, l)
	}
	return time.Time{}, nil
}

// evictOf asks the World's eviction API.
func evictOf(w *simulation.World, pod *v1.Pod) error {
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name}, UID: pod.UID, Node: pod.Spec.NodeName}
	return w.Clients().PodWriter.Evict(context.Background(), ref, taints.Deadline{Taint: &v1.Taint{}})
}

var healthy = regexp.MustCompile(`needs \d+ healthy pods and has \d+`)

// answerOf is what both sides say alike, with the budget's numbers.
func answerOf(err error) string {
	if err == nil {
		return "yes"
	}
	if numbers := healthy.FindString(causeOf(err)); apierrors.IsTooManyRequests(err) {
		return strings.TrimSpace("no " + numbers)
	}
	if strings.Contains(err.Error(), "more than one PodDisruptionBudget") {
		return "two budgets"
	}
	return err.Error()
}

func causeOf(err error) string {
	cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	return cause.Message
}

// drained is the nodes that events drain.
func drained(events []simulation.Event) []string {
	nodes := make(map[string]bool)
	for _, e := range events {
		if e.Drain != nil {
			for _, name := range e.Drain.Names {
				nodes[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}
