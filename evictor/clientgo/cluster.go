package clientgo

import (
	"context"
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
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
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
	events  *events
	guard   *guard
	writes  *writes
	budgets budgets

	mu      sync.Mutex
	awaited []awaited      // guarded by mu: the lists that must arrive before the stores are complete
	links   []*link        // guarded by mu: the lists and watches, with the errors of each
	asked   time.Time      // guarded by mu: when an evictor last looked, or when Run began
	runs    int            // guarded by mu: calls of Run that have not returned
	state   runState       // guarded by mu
	begin   []task         // guarded by mu: what the first Run begins beside the guard and the informers
	launch  func(task)     // guarded by mu: begins something while Run runs; set by the first Run
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
	c.writes = &writes{clock: c.opts.Clock, silence: c.opts.LeaseSilence}
	c.budgets.clock = c.opts.Clock
	c.events = &events{opts: c.opts}
	sources := c.informers()
	c.nodes = newNodeStore(sources.nodes, c.Synced)
	c.pods = &podStore{pods: sources.pods}
	// Before any handler of Feed, so that the store knows of a change before the evictor is told.
	if _, err := sources.nodes.handle(c.nodes.seen()); err != nil {
		return nil, fmt.Errorf("clientgo: the informer of nodes: %w", err)
	}
	c.awaited = []awaited{{"nodes", sources.nodes.HasSynced}, {"pods", sources.pods.HasSynced}}
	if sources.leases != nil {
		came, err := sources.leases.handle(renewals(c.guard.renewed))
		if err != nil {
			return nil, fmt.Errorf("clientgo: the informer of leases: %w", err)
		}
		c.awaited = append(c.awaited, awaited{"leases", came})
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
	}
	return New(client, opts)
}

// Clients returns the evictor's clients for this cluster; the Cluster is their Source. See [Cluster.Lifecycle] and
// [Cluster.TaintEviction] for a half alone.
func (c *Cluster) Clients() evictor.Clients {
	return evictor.Clients{
		Nodes:      c.nodes,
		Pods:       c.pods,
		NodeWriter: &nodeWriter{client: c.client, nodes: c.nodes, kept: c.kept, clock: c.opts.Clock, writes: c.writes},
		PodWriter:  c.podWriter(),
		Source:     c,
	}
}

func (c *Cluster) podWriter() *podWriter {
	return &podWriter{
		client: c.client, evictions: c.opts.EvictionClient, pods: c.pods, clock: c.opts.Clock, evictionAPI: c.opts.EvictionAPI,
		writes: c.writes, budgets: &c.budgets, awake: c.guard.awake,
	}
}

// Lifecycle returns the same clients for nodelifecycle.New. Options.Half may be Lifecycle if TaintBasedEviction is on.
func (c *Cluster) Lifecycle() nodelifecycle.Clients { return c.Clients() }

// TaintEviction returns the same clients for tainteviction.New. Options.Half may be TaintEviction.
func (c *Cluster) TaintEviction() tainteviction.Clients {
	all := c.Clients()
	return tainteviction.Clients{Nodes: all.Nodes, Pods: all.Pods, Evicter: all.PodWriter, Source: c}
}

// Health returns what the guard has found: nil, or why it cannot see the cluster well enough to act. If it can, but the
// watch lost some renewals or some leases cannot be read, Health returns a *PartialError.
func (c *Cluster) Health() error {
	if err := c.guard.blindness(); err != nil {
		return err
	}
	return c.guard.partial()
}

// Feed implements cluster.Source: the informers report changes, and the guard reports whether it can see the cluster.
// Before a target that is a leases.Judge finds a node silent, the Cluster reads that node's lease from the API server.
// Call it for any number of targets, at any time before Run ends. It returns an error if Options.Half is not enough for
// the target, or an informer has stopped.
func (c *Cluster) Feed(to evictor.Target) error {
	if absent(to) {
		return errors.New("clientgo: Feed needs a target, such as an evictor, not nil")
	}
	if err := c.opts.serves(to); err != nil {
		return fmt.Errorf("clientgo: %w", err)
	}
	var told []awaited
	for _, feed := range []struct {
		what    string
		source  source
		handler cache.ResourceEventHandler
	}{
		{"nodes", c.sources.nodes, nodeHandler(to)},
		{"pods", c.sources.pods, podHandler(to)},
	} {
		came, err := feed.source.handle(feed.handler)
		if err != nil {
			return fmt.Errorf("clientgo: feeding: %w", err)
		}
		told = append(told, awaited{feed.what, came})
	}
	c.guard.tell(to)
	c.tellRenewals(to)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited = append(c.awaited, told...)
	if judges, ok := to.(leases.Judge); ok && c.opts.lifecycle() {
		read := func(ctx context.Context) { _ = c.reader(judges).Run(ctx) } // its clock has timers
		if c.state == runs {
			c.launch(read)
		} else {
			c.begin = append(c.begin, read)
		}
	}
	return nil
}
