package clientgo

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/evictor/leases"
)

// ClientsOf are the clients that a Cluster writes with.
func ClientsOf(c *Cluster) []kubernetes.Interface {
	return []kubernetes.Interface{c.client, c.opts.EvictionClient, c.opts.EventClient}
}

// ReadLeases reads the lease of a node, alone and with all others.
func ReadLeases(ctx context.Context, c *Cluster, node string) (alone, listed leases.Lease, err error) {
	alone, err = c.readLease(ctx, node)
	all, failed := c.listLeases(ctx)
	return alone, all[node], errors.Join(err, failed)
}

// SpreadOf is for how long lists are put off.
func SpreadOf(c *Cluster) time.Duration { return c.guard.spread() }
