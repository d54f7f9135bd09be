package clientgo

import "k8s.io/client-go/kubernetes"

// ClientsOf are the clients that a Cluster writes with.
func ClientsOf(c *Cluster) []kubernetes.Interface {
	return []kubernetes.Interface{c.client, c.opts.EvictionClient, c.opts.EventClient}
}
