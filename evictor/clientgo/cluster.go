package clientgo

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
)

// Cluster is a cluster as an evictor sees and changes it. Most callers want [Cluster.Clients] first, for evictor.New;
// then [Cluster.Check], which says what permissions are missing, and, to elect a leader, [Cluster.Lock] and
// [Cluster.MayLead]. All methods are safe for concurrent use.
type Cluster struct {
	client kubernetes.Interface
	opts   Options

	nodes   *nodeStore
	pods    *podStore
	sources sources
	events  *eventSink
	guard   *guard
	writes  *writes

	confirmer *confirmer

	evictionsPerSecond float32 // rate of the client for evictions; 0 means unknown. Set before the Cluster is returned

	mu      sync.Mutex
	awaited []awaited      // guarded by mu: the lists that must arrive before the stores are complete
	links   []*link        // guarded by mu: the lists and watches, with the errors of each
	asked   time.Time      // guarded by mu: when an evictor last looked, or when Run began
	runs    int            // guarded by mu: calls of Run that have not returned
	state   runState       // guarded by mu
	stop    func()         // ends what Run began; set by the first Run, called by the last
	running sync.WaitGroup // what Run began
}

// New returns a Cluster. It starts nothing and sends nothing; Run does, and Evictor.Run calls that. The error names
// every fault of the client and the options.
func New(client kubernetes.Interface, opts Options) (*Cluster, error) {
	if err := opts.validate(client); err != nil {
		return nil, fmt.Errorf("clientgo: %w", err)
	}
	c := &Cluster{client: client, opts: opts.withDefaults(client)}
	c.guard = newGuard(c)
	c.confirmer = &confirmer{client: client, clock: c.opts.Clock, guard: c.guard}
	c.writes = &writes{clock: c.opts.Clock, silence: c.guard.bound}
	c.events = &eventSink{opts: c.opts}
	sources, err := c.informers()
	if err != nil {
		return nil, err
	}
	c.nodes = newNodeStore(sources.nodes, c.complete)
	c.pods = &podStore{pods: sources.pods}
	// Before any handler of Feed, so that the store knows of a change before the evictor is told.
	if _, err := sources.nodes.handle(c.nodes.seen()); err != nil {
		return nil, fmt.Errorf("clientgo: the informer of nodes: %w", err)
	}
	c.awaited = []awaited{{"nodes", sources.nodes.HasSynced}, {"pods", sources.pods.HasSynced}}
	if sources.leases != nil {
		if _, err := sources.leases.handle(renewals(c.guard.renewed)); err != nil {
			return nil, fmt.Errorf("clientgo: the informer of leases: %w", err)
		}
		c.awaited = append(c.awaited, awaited{"leases", sources.leases.HasSynced})
	}
	if sources.daemonSets != nil {
		c.pods.daemonSets = sources.daemonSets.GetIndexer()
		c.awaited = append(c.awaited, awaited{"daemonsets", sources.daemonSets.HasSynced})
	}
	c.sources = sources
	c.linked(sources.links...)
	return c, nil
}

// linked adds links; allLinks returns them all.
func (c *Cluster) linked(more ...*link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, more...)
}

func (c *Cluster) allLinks() []*link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.links)
}

// NewForConfig is New with clients made from config, which use protobuf. Nodes, evictions and events each get a client
// with its own rate limit, as in upstream's controllers, so that events do not delay evictions, nor evictions the lifting
// of taints. If config has no QPS, each limit is kube-controller-manager's: 20 requests a second, in bursts of 30;
// client-go's own default is too slow when a zone is lost. It uses clients set in the options as they are.
func NewForConfig(config *rest.Config, opts Options) (*Cluster, error) {
	if config == nil {
		return nil, fmt.Errorf("clientgo: %w", field.Required(field.NewPath("config"), "how to reach the API server, such as rest.InClusterConfig returns it"))
	}
	var client kubernetes.Interface
	var perSecond float32
	for _, to := range []struct {
		agent  string
		client *kubernetes.Interface
	}{{"nodes", &client}, {"evictions", &opts.EvictionClient}, {"events", &opts.EventClient}} {
		if *to.client != nil {
			continue
		}
		own := rest.CopyConfig(config)
		own.RateLimiter = nil // otherwise all would share it
		if own.QPS == 0 {
			own.QPS, own.Burst = 20, max(own.Burst, 30)
		}
		own.ContentType, own.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
		if own.UserAgent == "" {
			own.UserAgent = rest.DefaultKubernetesUserAgent()
		}
		own.UserAgent += "/" + to.agent
		made, err := kubernetes.NewForConfig(own)
		if err != nil {
			return nil, fmt.Errorf("clientgo: the client for %s: %w", to.agent, err)
		}
		*to.client = made
		if to.client == &opts.EvictionClient {
			perSecond = own.QPS
		}
	}
	c, err := New(client, opts)
	if err == nil {
		c.evictionsPerSecond = perSecond
	}
	return c, err
}

// Clients returns the evictor's clients for this cluster; the Cluster is their Source. Their Confirmer reads a silent
// node's lease from the API server. With Options.Half TaintEviction there is none: that half reads no leases.
func (c *Cluster) Clients() evictor.Clients {
	clients := evictor.Clients{
		Nodes:      c.nodes,
		Pods:       c.pods,
		NodeWriter: &nodeWriter{client: c.client, nodes: c.nodes, kept: c.kept, clock: c.opts.Clock, writes: c.writes},
		PodWriter:  &podWriter{client: c.client, evictions: c.opts.EvictionClient, pods: c.pods, clock: c.opts.Clock, evictionAPI: c.opts.EvictionAPI, writes: c.writes},
		EventSink:  c.events,
		Source:     c,
	}
	if c.opts.lifecycle() {
		clients.Confirmer = c.confirmer
	}
	return clients
}

// Health returns what the guard last told the evictor: nil, or why it cannot see the cluster well enough to act. If it
// can, but the watch lost some renewals or it cannot read some leases, Health returns a *PartialError; the evictor
// still acts.
func (c *Cluster) Health() error {
	if err := c.guard.health(); err != nil {
		return err
	}
	return c.guard.partial()
}

// Feed implements evictor.Source: the informers report changes, and the guard reports whether it can see the cluster.
// Call it for any number of targets, at any time before Run ends. It returns an error if the options do not fit the
// configuration, or an informer has stopped.
func (c *Cluster) Feed(to evictor.Target, config evictor.Config) error {
	if absent(to) {
		return errors.New("clientgo: Feed needs a target, such as an evictor, not nil")
	}
	if err := c.opts.serves(config); err != nil {
		return fmt.Errorf("clientgo: %w", err)
	}
	if config.Half != evictor.TaintEviction { // that half has no grace period
		if err := c.guard.serve(config.NodeMonitorGracePeriod); err != nil {
			return fmt.Errorf("clientgo: %w", err)
		}
	}
	c.warn(config)
	var told []awaited
	for _, feed := range []struct {
		what    string
		source  source
		handler cache.ResourceEventHandler
	}{
		{"nodes", c.sources.nodes, nodeHandler(to)},
		{"pods", c.sources.pods, podHandler(to)},
		{"leases", c.sources.leases, leaseHandler(to)},
	} {
		if feed.source == nil {
			continue
		}
		came, err := feed.source.handle(feed.handler)
		if err != nil {
			return fmt.Errorf("clientgo: feeding: %w", err)
		}
		told = append(told, awaited{feed.what, came})
	}
	c.guard.tell(to)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited = append(c.awaited, told...)
	return nil
}

// podsOfANode is the kubelet's default for the most pods of a node.
const podsOfANode = 110

// warn logs settings that are valid but hinder an evictor of that configuration.
func (c *Cluster) warn(config evictor.Config) {
	evicts := config.Half != evictor.Lifecycle || !config.TaintBasedEviction
	if needed := config.NodeEvictionRate * podsOfANode; evicts && c.evictionsPerSecond > 0 && float64(c.evictionsPerSecond) < needed {
		c.opts.Logger.Warn("the rate limit of evictions is too low for the loss of a zone: evictions will be late",
			"qps", c.evictionsPerSecond, "nodeEvictionRate", config.NodeEvictionRate, "podsPerSecondAndZone", needed)
	}
}

// serve adapts the guard to an evictor's grace period; 0 means that it has none. The guard looks eight times in each
// LeaseSilence, and may wait half of one for an answer.
func (g *guard) serve(grace time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked := g.c.opts.LeaseSilence
	if notices := asked + asked/8 + asked/2; grace > 0 && notices > grace {
		return field.Invalid(field.NewPath("leaseSilence"), asked.String(),
			fmt.Sprintf("the guard may need %s to notice, which exceeds nodeMonitorGracePeriod (%s); the default is 20s, or two fifths of that period if less", notices, grace))
	}
	if asked == 0 && grace > 0 {
		g.silence = min(g.silence, grace*2/5)
	}
	return nil
}
