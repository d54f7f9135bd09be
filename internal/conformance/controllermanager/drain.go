package controllermanager

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes/fake"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/kubectl/pkg/drain"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/internal/outside"
)

// byForce is kubectl with --disable-eviction.
const byForce = "kubectl --disable-eviction"

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

func (c evictions) Evict(_ context.Context, e *policyv1.Eviction) error {
	return c.store.evict(kubectl, e)
}

// drains are people who drain nodes with kubectl. Whoever drains a node anew, or opens it, has stopped the drain before: nobody
// hears of that one any more.
type drains struct {
	*face
	ctx     context.Context               // of the scenario
	running map[string]context.CancelFunc // by node
}

// moment is how long after the World people act.
const moment = time.Millisecond

func (d *drains) begin(by outside.Drain) {
	d.stop(by.Node)
	ctx, stop := context.WithCancel(d.ctx)
	d.running[by.Node] = stop
	time.AfterFunc(moment, func() { d.drain(ctx, by) })
}

func (d *drains) opened(node string) {
	if d.stop(node) {
		d.parts.DrainEnds(node, "", "")
	}
}

// stop stops the drain of a node, and says whether there was one.
func (d *drains) stop(node string) bool {
	stop := d.running[node]
	if stop == nil {
		return false
	}
	stop()
	delete(d.running, node)
	return true
}

// drain is `kubectl drain --ignore-daemonsets` and, if it was told to, after the timeout the same with --disable-eviction.
func (d *drains) drain(ctx context.Context, by outside.Drain) {
	err := d.run(ctx, by, by.Timeout, false)
	if timedOut(err) && by.Force {
		d.ends(ctx, by.Node, simulation.DrainForced, err)
		if ctx.Err() != nil {
			return
		}
		err = d.run(ctx, by, 0, true)
	}
	how := simulation.DrainRefused
	switch {
	case err == nil:
		how = ""
	case timedOut(err):
		how = simulation.DrainGivenUp
	case strings.Contains(err.Error(), "more than one PodDisruptionBudget"):
		how = simulation.DrainFailed
	}
	d.ends(ctx, by.Node, how, err)
}

func (d *drains) ends(ctx context.Context, node, how string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil { // it was stopped, or the scenario is over
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	if how != simulation.DrainForced {
		d.stop(node)
	}
	d.parts.DrainEnds(node, how, why)
	d.mu.Wrote()
}

func timedOut(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "global timeout") || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), context.DeadlineExceeded.Error()))
}

func (d *drains) run(ctx context.Context, by outside.Drain, timeout time.Duration, force bool) error {
	who := kubectl
	if force {
		who = byForce
	}
	return drain.RunNodeDrain(&drain.Helper{
		Ctx: ctx, Client: evicting{d.client(ctx, who), d.store}, GracePeriodSeconds: -1, IgnoreAllDaemonSets: true, Timeout: timeout,
		Force: by.Bare, DeleteEmptyDirData: by.EmptyDir, DisableEviction: force,
		EvictErrorRetryDelay: 5 * time.Second, Out: io.Discard, ErrOut: io.Discard,
		OnPodDeletionOrEvictionStarted: func(pod *v1.Pod, _ bool) { d.arrives(pod) },
	}, by.Node)
}

// arrives has the evictions of an instant arrive in the order of the pods' names. kubectl starts them all at once, so that any
// order is possible.
func (d *drains) arrives(pod *v1.Pod) {
	d.mu.Lock()
	names := slices.Sorted(maps.Keys(d.kind("pods").objects))
	d.mu.Unlock()
	sleep(time.Duration(slices.Index(names, keyOf(pod.Namespace, pod.Name))+1) * time.Microsecond)
}
