package clientgo

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
)

// Cluster is a cluster as an evictor sees and changes it. All methods are safe for concurrent use.
type Cluster struct {
	client kubernetes.Interface
	opts   Options

	nodes      *nodeStore
	pods       *podStore
	leases     cache.SharedIndexInformer
	background *background
	guard      *guard

	mu     sync.Mutex
	synced []cache.InformerSynced // guarded by mu
}

// Target is what a Cluster feeds: an *evictor.Evictor.
type Target interface {
	NodeChanged(name string)
	PodChanged(key evictor.PodKey)
	LeaseObserved(node string, renewTime time.Time, resourceVersion string)
	SetObserverHealth(err error)
}

var _ Target = (*evictor.Evictor)(nil)

// New makes the informers in the factory, which must have been made with the same client, and starts nothing. A factory serves
// one Cluster; an error says so, or what is wrong with the options.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory, opts Options) (*Cluster, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{client: client, opts: opts.withDefaults(client)}
	c.guard = newGuard(c)
	sources, err := c.informers(factory)
	if err != nil {
		return nil, err
	}
	c.nodes = newNodeStore(sources.nodes.GetIndexer(), c.Synced)
	c.pods = &podStore{pods: sources.pods.GetIndexer()}
	c.leases = sources.leases
	// Before any handler of Feed: what is written becomes visible to the store, then to the evictor.
	if _, err := sources.nodes.AddEventHandler(c.nodes.seen()); err != nil {
		return nil, fmt.Errorf("clientgo: the informer of nodes: %w", err)
	}
	if _, err := sources.leases.AddEventHandler(renewals(c.guard.renewed)); err != nil {
		return nil, fmt.Errorf("clientgo: the informer of leases: %w", err)
	}
	c.synced = []cache.InformerSynced{c.background.running, sources.nodes.HasSynced, sources.pods.HasSynced, sources.leases.HasSynced}
	if sources.daemonSets != nil {
		c.pods.daemonSets = sources.daemonSets.GetIndexer()
		c.synced = append(c.synced, sources.daemonSets.HasSynced)
	}
	c.background.sources = sources
	return c, nil
}

// Clients are the evictor's clients on this cluster.
func (c *Cluster) Clients() evictor.Clients {
	return evictor.Clients{
		Nodes:      c.nodes,
		Pods:       c.pods,
		NodeWriter: &nodeWriter{client: c.client, nodes: c.nodes, kept: c.kept, clock: c.opts.Clock},
		PodWriter:  &podWriter{client: c.client, evictions: c.opts.EvictionClient, pods: c.pods, clock: c.opts.Clock, evictionAPI: c.opts.EvictionAPI},
		EventSink:  c.background,
	}
}

// Synced says that the factory has been started and its informers have delivered everything that there
// was, to the stores and to those that Feed feeds.
func (c *Cluster) Synced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, synced := range c.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Health is what the guard last told the evictor: nil, or why the cluster is not seen well enough to act.
func (c *Cluster) Health() error { return c.guard.health() }

// Feed lets the informers tell an evictor what changed, and the guard how well the cluster is seen. It
// may be called before or after the factory is started, and for several. The error is an informer's that has stopped.
func (c *Cluster) Feed(e Target) error {
	var registered []cache.ResourceEventHandlerRegistration
	for _, feed := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{c.background.sources.nodes, nodeHandler(e)},
		{c.background.sources.pods, podHandler(e)},
		{c.background.sources.leases, leaseHandler(e)},
	} {
		r, err := feed.informer.AddEventHandler(feed.handler)
		if err != nil {
			return fmt.Errorf("clientgo: feeding: %w", err)
		}
		registered = append(registered, r)
	}
	c.guard.tell(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range registered {
		c.synced = append(c.synced, r.HasSynced)
	}
	return nil
}
