package metrics

import (
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Options are the options of New. The zero Options are valid.
type Options struct {
	// Clock is the evictor's clock; nil means the real one.
	Clock clock.PassiveClock
	// OmitRequests leaves out rest_client_requests_total. Set it if the registry already has that metric for all clients
	// of the process, as those of controller-runtime and of k8s.io/component-base do.
	OmitRequests bool
}

// Metrics measures one evictor, or one half of one. It is an evictor.Observer and a prometheus.Collector: register it,
// give it to the options as Observer, wrap the clients with [Metrics.Clients], and call [Metrics.Watch] once there is an
// evictor. In a dry run it counts what would have been done. All methods are safe for concurrent use.
type Metrics struct {
	clock    clock.PassiveClock
	counters []prometheus.Collector

	evictions   *prometheus.CounterVec
	nodeUpdate  prometheus.Histogram
	pass        prometheus.Histogram
	podDeleted  prometheus.Counter
	podDeletion prometheus.Histogram
	apiErrors   *prometheus.CounterVec
	eventErrors *prometheus.CounterVec
	decisions   *prometheus.CounterVec
	delayed     *prometheus.CounterVec
	requests    *prometheus.CounterVec

	mu      sync.Mutex
	nodes   *nodelifecycle.Controller // guarded by mu
	pods    *tainteviction.Controller // guarded by mu
	healthy func() error              // guarded by mu
	counted map[string]struct{}       // guarded by mu: the zones with a counter of evictions
}

// Upstream's subsystems and ours.
const (
	nodeCollector = "node_collector"
	taintEviction = "taint_eviction_controller"
	own           = "evictkit"
)

var (
	zoneHealth = describe(nodeCollector, "zone_health", "Gauge measuring percentage of healthy nodes per zone.", "zone")
	zoneSize   = describe(nodeCollector, "zone_size", "Gauge measuring number of registered Nodes per zones.", "zone")
	unhealthy  = describe(nodeCollector, "unhealthy_nodes_in_zone", "Gauge measuring number of not Ready Nodes per zones.", "zone")
	disrupted  = describe(own, "zone_disrupted", "1 while the policy calls the zone partially or fully disrupted.", "zone")
	depth      = describe(own, "queue_depth", "How many nodes wait for their turn, and how many evictions are armed.", "queue")
	oldest     = describe(own, "queue_oldest_seconds", "How long the first of them has waited: a node for its turn, an eviction since its deadline.", "queue")
	observer   = describe(own, "observer_healthy", "1 while the cluster is seen well enough to act.")
)

func describe(subsystem, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("", subsystem, name), help, labels, nil)
}

// New makes the metrics; it does not register them.
func New(opts Options) *Metrics {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	m := &Metrics{clock: opts.Clock, counted: make(map[string]struct{})}
	count := func(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
		m.counters = append(m.counters, c)
		return c
	}
	measure := func(subsystem, name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets})
		m.counters = append(m.counters, h)
		return h
	}
	m.evictions = count(nodeCollector, "evictions_total", "Number of Node evictions that happened since current instance of NodeController started.", "zone")
	m.nodeUpdate = measure(nodeCollector, "update_node_health_duration_seconds", "Duration in seconds for NodeController to update the health of a single node.",
		prometheus.ExponentialBuckets(0.001, 4, 8))
	m.pass = measure(nodeCollector, "update_all_nodes_health_duration_seconds", "Duration in seconds for NodeController to update the health of all nodes.",
		prometheus.ExponentialBuckets(0.01, 4, 8))
	m.podDeleted = count(taintEviction, "pod_deletions_total", "Total number of Pods deleted by TaintEvictionController since its start.").WithLabelValues()
	m.podDeletion = measure(taintEviction, "pod_deletion_duration_seconds",
		"Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via TaintEvictionController.",
		[]float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240})
	m.apiErrors = count(own, "api_errors_total", "Failed requests by what was tried and the kind of the error.", "operation", "reason")
	m.eventErrors = count(own, "event_errors_total", "Failed tries to write a Kubernetes event by the kind of the error.", "reason")
	m.eventErrors.WithLabelValues("Forbidden") // there from the start, so that the first of a role without events is an increase
	m.decisions = count(own, "decisions_total", "Decisions by their kind.", "kind")
	m.delayed = count(own, "evictions_delayed_total", "Evictions that were due but held back, by what holds them back.", "reason")
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: "rest_client", Name: "requests_total", Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
	if !opts.OmitRequests {
		m.counters = append(m.counters, m.requests)
	}
	return m
}

// Watch makes the gauges read from the two halves of an evictor, of which one may be nil. healthy, usually
// Cluster.Health, returns an error while the cluster cannot be seen well enough to act; a *clientgo.PartialError does not
// count as one. It may be nil.
func (m *Metrics) Watch(nodes *nodelifecycle.Controller, pods *tainteviction.Controller, healthy func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes, m.pods, m.healthy = nodes, pods, healthy
}

// ObserveNode implements evictor.Observer.
func (m *Metrics) ObserveNode(d nodelifecycle.Decision) {
	m.decisions.WithLabelValues(string(d.Kind)).Inc()
	switch {
	case d.Kind == nodelifecycle.Passed:
		m.pass.Observe(d.Took.Seconds())
	case d.Kind == nodelifecycle.PodDelayed:
		m.delayed.WithLabelValues(d.Reason).Inc()
	case d.Kind == nodelifecycle.TaintsWritten && hasOwn(d.Added) && !hasOwn(d.Removed), d.Kind == nodelifecycle.NodeEmptied: // one for another is no eviction
		m.evicted(m.zoneOf(d.Node))
	}
}

// ObservePod implements evictor.Observer.
func (m *Metrics) ObservePod(d tainteviction.Decision) {
	m.decisions.WithLabelValues(string(d.Kind)).Inc()
	switch d.Kind {
	case tainteviction.EvictionDelayed:
		m.delayed.WithLabelValues(d.Reason).Inc()
	case tainteviction.PodEvicted:
		m.podDeleted.Inc()
		m.podDeletion.Observe(max(0, m.clock.Since(d.Deadline).Seconds()))
	}
}

func hasOwn(list []v1.Taint) bool {
	return slices.ContainsFunc(list, func(t v1.Taint) bool { return taints.OwnNoExecute(&t) })
}

func (m *Metrics) zoneOf(node string) string {
	m.mu.Lock()
	nodes := m.nodes
	m.mu.Unlock()
	if nodes == nil {
		return ""
	}
	status, _ := nodes.Node(node)
	return label(status.Zone)
}

// label is upstream's key of a zone.
func label(key zone.Key) string {
	if key == (zone.Key{}) {
		return ""
	}
	return key.Region + ":\x00:" + key.Zone
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.counters {
		c.Describe(to)
	}
	for _, d := range []*prometheus.Desc{zoneHealth, zoneSize, unhealthy, disrupted, depth, oldest, observer} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	nodes, pods, healthy := m.nodes, m.pods, m.healthy
	m.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if nodes != nil {
		m.collectNodes(nodes, gauge)
	}
	if pods != nil {
		waiting, since := pods.Evictions(), m.clock.Now()
		for i := range waiting {
			if due := waiting[i].Why.Deadline; due.Before(since) {
				since = due
			}
		}
		gauge(depth, float64(len(waiting)), "evictions")
		gauge(oldest, m.clock.Since(since).Seconds(), "evictions")
	}
	if healthy != nil {
		well := 1.0
		var partial *clientgo.PartialError
		if err := healthy(); err != nil && !errors.As(err, &partial) {
			well = 0
		}
		gauge(observer, well)
	}
	for _, c := range m.counters {
		c.Collect(to)
	}
}

func (m *Metrics) collectNodes(nodes *nodelifecycle.Controller, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	zones := nodes.Zones()
	m.forget(zones)
	for _, z := range zones {
		zone, share := label(z.Zone), 100.0
		if z.Counts.Total > 0 {
			share = 100 * float64(z.Counts.Total-z.Counts.Bad) / float64(z.Counts.Total)
		}
		gauge(zoneHealth, share, zone)
		gauge(zoneSize, float64(z.Counts.Total), zone)
		gauge(unhealthy, float64(z.Counts.Bad), zone)
		gauge(disrupted, isDisrupted(z.State), zone)
	}
	waiting, since := nodes.Waiting(), m.clock.Now()
	for i := range waiting {
		if waiting[i].Queued.Before(since) {
			since = waiting[i].Queued
		}
	}
	gauge(depth, float64(len(waiting)), "nodes")
	gauge(oldest, m.clock.Since(since).Seconds(), "nodes")
}

func isDisrupted(state zone.State) float64 {
	if state == zone.PartialDisruption || state == zone.FullDisruption {
		return 1
	}
	return 0
}

// unread is the most zones whose evictions are counted while nobody collects.
const unread = 1000

// evicted counts a node of the zone as tainted or emptied.
func (m *Metrics) evicted(zone string) {
	m.mu.Lock()
	m.counted[zone] = struct{}{}
	m.evictions.WithLabelValues(zone).Inc()
	nodes, many := m.nodes, len(m.counted) > unread
	m.mu.Unlock()
	if many && nodes != nil {
		m.forget(nodes.Zones())
	}
}

// forget keeps a counter of evictions for each of these zones, starting at 0, and drops all others: a kubelet chooses its
// own zone, and may name another one every minute.
func (m *Metrics) forget(zones []zone.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := m.counted
	m.counted = make(map[string]struct{}, len(zones))
	for _, z := range zones {
		zone := label(z.Zone)
		m.counted[zone] = struct{}{}
		m.evictions.WithLabelValues(zone)
		delete(gone, zone)
	}
	for zone := range gone {
		m.evictions.DeleteLabelValues(zone)
	}
}
