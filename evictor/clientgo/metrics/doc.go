// Package metrics has Prometheus metrics of an evictor, under upstream's names where it has them, so that
// existing dashboards and alerts go on working.
//
//	m := metrics.New(metrics.Options{})
//	e, err := evictor.New(config, m.Clients(cluster.Clients()), evictor.Options{Observer: m, OnPass: m.Pass})
//	m.Watch(e, cluster.Health)
//	registry.MustRegister(m)
//
//	name                                                         what
//	node_collector_zone_health{zone}                             percentage of ready nodes
//	node_collector_zone_size{zone}                               nodes that count
//	node_collector_unhealthy_nodes_in_zone{zone}                 those not ready
//	node_collector_evictions_total{zone}                         nodes tainted NoExecute, or emptied
//	node_collector_update_node_health_duration_seconds           one write of a silent node's conditions
//	node_collector_update_all_nodes_health_duration_seconds      one monitor pass
//	taint_eviction_controller_pod_deletions_total                pods evicted because of taints
//	taint_eviction_controller_pod_deletion_duration_seconds      from a pod's deadline to its eviction
//	evictkit_queue_depth{queue}                                  what there is to do: nodes, evictions, writes, lifts
//	evictkit_queue_oldest_seconds{queue}                         how long the first has waited since it was due
//	evictkit_api_errors_total{operation,reason}                  failed writes by their kind
//	evictkit_decisions_total{kind}                               everything decided
//	evictkit_observer_healthy                                    0 while the cluster is not seen well enough to act
//	rest_client_requests_total{code,method,host}                 requests, with Transport; see OmitRequests
//
// A collection holds no lock of the evictor for longer than a look takes, however much there is: about 1 µs with
// 150,000 armed evictions.
//
// The label zone is upstream's: region and zone with ":\x00:" between them, empty where a node has neither. The series
// of a zone without nodes go at the next collection, which upstream's do not. Durations are in seconds; upstream's
// pod_deletion_duration_seconds, up to 1.36 at least, is in seconds times 10⁹, so its buckets are of no use there and
// are here. Upstream times the look at a node whether or not there is something to write; here looks cost too little to
// be timed one by one.
package metrics
