package twins

import (
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/kubectl/pkg/drain"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
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
			l.of, l.what = workloadOf(pod), "evicted: "+answerOf(a.evict(pod.DeepCopy()))
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

// evictOf asks upstream's, which needs what the World has locked.
func (f *face) evictOf(pod *v1.Pod) error {
	f.mu.Unlock()
	defer f.mu.Lock()
	return f.evict(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}

// evicting is a client whose evictions are the store's.
type evicting struct {
	*fake.Clientset
	store *store
}

type policyClient struct {
	policyclient.PolicyV1Interface
	store *store
}

type evictions struct {
	policyclient.EvictionInterface
	store *store
}

func (c evicting) PolicyV1() policyclient.PolicyV1Interface {
	return policyClient{c.Clientset.PolicyV1(), c.store}
}

func (c policyClient) Evictions(namespace string) policyclient.EvictionInterface {
	return evictions{c.PolicyV1Interface.Evictions(namespace), c.store}
}

func (c evictions) Evict(_ context.Context, e *policyv1.Eviction) error { return c.store.evict(e) }

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

// people drain nodes with kubectl at the times of the scenario's drains. Who opens a node again has ended the drain before.
type people struct {
	events []simulation.Event // drain and uncordon
	mu     sync.Mutex
	ended  map[string]string
	stop   map[string]context.CancelFunc
}

// newPeople takes the drains out of a scenario, and leaves cordons in their place.
func newPeople(s *simulation.Scenario) *people {
	p := &people{ended: make(map[string]string), stop: make(map[string]context.CancelFunc)}
	s.Events = slices.Clone(s.Events)
	for i, e := range s.Events {
		if e.Drain != nil || e.Uncordon != nil {
			p.events = append(p.events, e)
		}
		if e.Drain != nil {
			s.Events[i] = simulation.Event{At: e.At, Cordon: &e.Drain.Nodes}
		}
	}
	return p
}

// moment is how long after the World people act, so that they see the cordon.
const moment = time.Millisecond

func (p *people) begin(ctx context.Context, f *face) {
	if p == nil {
		return
	}
	for _, e := range p.events {
		time.AfterFunc(e.At+moment, func() {
			switch {
			case ctx.Err() != nil:
			case e.Drain != nil:
				for _, node := range e.Drain.Names {
					go p.drain(ctx, f, node, e.Drain.Timeout)
				}
			default:
				p.mu.Lock()
				defer p.mu.Unlock()
				for _, node := range e.Uncordon.Names {
					if stop := p.stop[node]; stop != nil {
						stop()
					}
				}
			}
		})
	}
}

// drain is `kubectl drain --ignore-daemonsets`.
func (p *people) drain(ctx context.Context, f *face, node string, timeout time.Duration) {
	own, stop := context.WithCancel(ctx)
	defer stop()
	p.mu.Lock()
	p.ended[node], p.stop[node] = "unfinished", stop
	p.mu.Unlock()
	err := drain.RunNodeDrain(&drain.Helper{
		Ctx: own, Client: evicting{f.client(), f.store}, GracePeriodSeconds: -1, IgnoreAllDaemonSets: true, Timeout: timeout,
		EvictErrorRetryDelay: 5 * time.Second, Out: io.Discard, ErrOut: io.Discard,
		OnPodDeletionOrEvictionStarted: func(pod *v1.Pod, _ bool) { arrives(f, pod) },
	}, node)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ctx.Err() != nil: // the scenario is over
	case err == nil, own.Err() != nil:
		p.ended[node] = "over"
	case strings.Contains(err.Error(), "global timeout"), strings.Contains(err.Error(), context.DeadlineExceeded.Error()):
		p.ended[node] = "givenUp"
	default:
		p.ended[node] = "refused"
	}
}

// arrives has the evictions of an instant arrive in the order of the pods' names. kubectl starts them all at once, so that any
// order is possible.
func arrives(f *face, pod *v1.Pod) {
	f.mu.Lock()
	names := slices.Sorted(maps.Keys(f.kind("pods").objects))
	f.mu.Unlock()
	sleep(time.Duration(slices.Index(names, keyOf(pod.Namespace, pod.Name))+1) * time.Microsecond)
}

// ends says how the drains have ended.
func (p *people) ends(until time.Duration) (lines []line) {
	if p == nil {
		return nil
	}
	for _, node := range drained(p.events) {
		lines = append(lines, line{until, "drained: " + p.ended[node], "", node, ""})
	}
	return lines
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
