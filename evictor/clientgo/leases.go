package clientgo

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/evictkit/evictkit/evictor/leases"
)

// readWithin is how long a read of leases from the API server may take.
const readWithin = 10 * time.Second

// judge is a target that judges nodes by their leases, with the guard between it and what is read of them.
type judge struct {
	leases.Judge
	guard *guard
}

// LeaseRead implements leases.Judge.
func (j judge) LeaseRead(node string, renewTime time.Time, resourceVersion string, err error) {
	j.guard.wasRead(node, renewTime, err)
	j.Judge.LeaseRead(node, renewTime, resourceVersion, err)
}

// SetLeaseHealth implements leases.Judge. The guard passes it on, because it logs and Health says what it is.
func (j judge) SetLeaseHealth(err error) { j.guard.unreadable(err) }

// reader reads the leases that a target asks for.
func (c *Cluster) reader(of leases.Judge) *leases.Reader {
	return &leases.Reader{Judge: judge{of, c.guard}, Read: c.readLease, List: c.listLeases, Clock: c.opts.Clock}
}

// request begins a request for leases that the client's own rate limit does not hold up, because that is for writes.
// Nil means that the client is a fake.
func (c *Cluster) request() *rest.Request {
	if client, ok := c.client.CoordinationV1().RESTClient().(*rest.RESTClient); ok && client != nil {
		return client.Get().Namespace(v1.NamespaceNodeLease).Resource("leases").Throttle(nil)
	}
	return nil
}

// readLease reads a node's lease from the API server.
func (c *Cluster) readLease(ctx context.Context, node string) (leases.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	lease := &coordinationv1.Lease{}
	var err error
	if request := c.request(); request != nil {
		err = request.Name(node).Do(ctx).Into(lease)
	} else {
		lease, err = c.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return leases.Lease{}, nil
	case err != nil:
		return leases.Lease{}, fmt.Errorf("clientgo: reading the lease of node %s: %w", node, err)
	}
	return leaseOf(lease), nil
}

func leaseOf(lease *coordinationv1.Lease) leases.Lease {
	if lease.Spec.RenewTime == nil {
		return leases.Lease{}
	}
	return leases.Lease{RenewTime: lease.Spec.RenewTime.Time, ResourceVersion: lease.ResourceVersion}
}

// listLeases reads all leases of nodes, in pages, as the API server has them now: no resourceVersion means a consistent
// list.
func (c *Cluster) listLeases(ctx context.Context) (map[string]leases.Lease, error) {
	all := make(map[string]leases.Lease)
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.pageOfLeases(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("clientgo: reading the leases of nodes: %w", err)
		}
		for i := range page.Items {
			all[page.Items[i].Name] = leaseOf(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

func (c *Cluster) pageOfLeases(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	request := c.request()
	if request == nil {
		return c.client.CoordinationV1().Leases(v1.NamespaceNodeLease).List(ctx, options)
	}
	page := &coordinationv1.LeaseList{}
	return page, request.VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Into(page)
}
