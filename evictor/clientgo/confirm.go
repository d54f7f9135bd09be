package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
)

const (
	// readEvery is the time between two reads of suspects' leases, so that there are at most 200 a second.
	readEvery = 5 * time.Millisecond
	// readWithin is how long one of them may take.
	readWithin = 10 * time.Second
	// manySuspects are answered by one list of all leases.
	manySuspects = 100
	// listFor is for how long after its end a list answers.
	listFor = time.Second
)

// confirmer implements evictor.Confirmer: it reads the leases of suspects from the API server.
type confirmer struct {
	client kubernetes.Interface
	clock  clock.WithTicker
	guard  *guard

	mu   sync.Mutex
	free time.Time  // guarded by mu: when the next read may begin
	list *leaseList // guarded by mu: the last one, or nil
}

// renewal is what is read of a lease.
type renewal struct {
	at      time.Time
	version string
}

// leaseList is one list of all leases.
type leaseList struct {
	began time.Time
	done  chan struct{}

	// what follows is read once done is closed
	ended  time.Time
	leases map[string]renewal
	err    error
}

// Confirm implements evictor.Confirmer. A lease that is gone, or was never renewed, is that of a silent node.
func (k *confirmer) Confirm(ctx context.Context, suspect evictor.Suspect) (evictor.Answer, error) {
	lease, ok, err := k.read(ctx, suspect)
	if err != nil {
		err = fmt.Errorf("clientgo: reading the lease of node %s: %w", suspect.Node, err)
		k.guard.unanswered(err)
		return evictor.Unanswered, err
	}
	answer := evictor.Silent
	if ok {
		answer = suspect.Lease(lease.at, lease.version)
	}
	k.guard.answered(suspect.Node, lease.at, answer)
	return answer, nil
}

func (k *confirmer) read(ctx context.Context, suspect evictor.Suspect) (r renewal, ok bool, err error) {
	if list, mine := k.listFor(suspect); list != nil {
		if mine {
			k.fill(ctx, list)
		}
		select {
		case <-list.done:
			r, ok = list.leases[suspect.Node]
			return r, ok, list.err
		case <-ctx.Done():
			return r, false, context.Cause(ctx)
		}
	}
	if err := k.wait(ctx); err != nil {
		return r, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	lease, err := k.get(ctx, suspect.Node)
	switch {
	case apierrors.IsNotFound(err):
		return r, false, nil
	case err != nil:
		return r, false, err
	}
	r, ok = renewalOf(lease)
	return r, ok, nil
}

func renewalOf(lease *coordinationv1.Lease) (r renewal, ok bool) {
	if lease.Spec.RenewTime == nil {
		return r, false
	}
	return renewal{lease.Spec.RenewTime.Time, lease.ResourceVersion}, true
}

// listFor returns the list that answers for the suspect: it began when the suspect had been silent for its grace period.
// If it is the caller's to fill, mine is true. Nil means that the lease is to be read by itself.
func (k *confirmer) listFor(suspect evictor.Suspect) (list *leaseList, mine bool) {
	now := k.clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.list; l != nil && !l.began.Before(suspect.Due) {
		select {
		case <-l.done:
			if now.Before(l.ended.Add(listFor)) {
				return l, false
			}
		default:
			return l, false
		}
	}
	if suspect.Waiting < manySuspects {
		return nil, false
	}
	k.list = &leaseList{began: now, done: make(chan struct{})}
	return k.list, true
}

// fill lists all leases, in pages, as the API server has them now: no resourceVersion means a consistent list.
func (k *confirmer) fill(ctx context.Context, list *leaseList) {
	defer close(list.done)
	leases := make(map[string]renewal)
	list.err = errors.New("the list has ended early") // and stays so if the client panics
	list.err = k.pages(ctx, func(page []coordinationv1.Lease) {
		for i := range page {
			if r, ok := renewalOf(&page[i]); ok {
				leases[page[i].Name] = r
			}
		}
	})
	list.ended, list.leases = k.clock.Now(), leases
}

func (k *confirmer) pages(ctx context.Context, take func([]coordinationv1.Lease)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		if err := k.wait(ctx); err != nil {
			return err
		}
		page, err := func() (*coordinationv1.LeaseList, error) {
			ctx, cancel := context.WithTimeout(ctx, readWithin)
			defer cancel()
			return k.some(ctx, options)
		}()
		if err != nil {
			return err
		}
		take(page.Items)
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// request begins a request for leases that the client's own rate limit does not hold up, because that is for writes.
// Nil means that the client is a fake.
func (k *confirmer) request() *rest.Request {
	if client, ok := k.client.CoordinationV1().RESTClient().(*rest.RESTClient); ok && client != nil {
		return client.Get().Namespace(v1.NamespaceNodeLease).Resource("leases").Throttle(nil)
	}
	return nil
}

func (k *confirmer) get(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	request := k.request()
	if request == nil {
		return k.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
	}
	lease := &coordinationv1.Lease{}
	return lease, request.Name(node).Do(ctx).Into(lease)
}

func (k *confirmer) some(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	request := k.request()
	if request == nil {
		return k.client.CoordinationV1().Leases(v1.NamespaceNodeLease).List(ctx, options)
	}
	leases := &coordinationv1.LeaseList{}
	return leases, request.VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Into(leases)
}

// wait waits for the next read to be allowed.
func (k *confirmer) wait(ctx context.Context) error {
	k.mu.Lock()
	now := k.clock.Now()
	if k.free.Before(now) || k.free.Sub(now) > time.Hour { // the clock was set back
		k.free = now
	}
	begin := k.free.Sub(now)
	k.free = k.free.Add(readEvery)
	k.mu.Unlock()
	if begin <= 0 {
		return nil
	}
	timer := k.clock.NewTimer(begin)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forget drops a list that answers no longer.
func (k *confirmer) forget() {
	now := k.clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list == nil {
		return
	}
	select {
	case <-k.list.done:
		if !now.Before(k.list.ended.Add(listFor)) {
			k.list = nil
		}
	default:
	}
}
