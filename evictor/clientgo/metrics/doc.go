// Package metrics has Prometheus metrics of an evictor. Where upstream has a metric, it has the same name here, so that
// existing dashboards and alerts keep working.
//
//	m := metrics.New(metrics.Options{})
//	e, err := evictor.New(config, m.Clients(cluster.Clients()), evictor.Options{Observer: m})
//	m.Watch(e.Nodes(), e.Pods(), cluster.Health)
//	registry.MustRegister(m)
//
//	name                                                         what
//	node_collector_zone_health{zone}                             percentage of ready nodes
//	node_collector_zone_size{zone}                               nodes that are counted
//	node_collector_unhealthy_nodes_in_zone{zone}                 those not ready
//	node_collector_evictions_total{zone}                         nodes tainted NoExecute, or emptied
//	node_collector_update_node_health_duration_seconds           one write of a silent node's conditions
//	node_collector_update_all_nodes_health_duration_seconds      one monitor pass
//	taint_eviction_controller_pod_deletions_total                pods evicted because of taints
//	taint_eviction_controller_pod_deletion_duration_seconds      from a pod's deadline to its eviction
//	evictkit_zone_disrupted{zone}                                1 while it is partially or fully disrupted
//	evictkit_queue_depth{queue}                                  nodes that wait for a turn; armed evictions
//	evictkit_queue_oldest_seconds{queue}                         how long the first has waited; 0 if none is due
//	evictkit_api_errors_total{operation,reason}                  failed writes
//	evictkit_event_errors_total{reason}                          failed tries to write a Kubernetes event
//	evictkit_decisions_total{kind}                               decisions
//	evictkit_evictions_delayed_total{reason}                     due evictions held back, as often as reported
//	evictkit_observer_healthy                                    0 while the guard cannot see the cluster
//	rest_client_requests_total{code,method,host}                 requests, with Transport; see OmitRequests
//
// # COLLECTION
//
// The label reason of a delay is Decision.Reason: for a refusal by a Gate, gate.Refused.Reason.
//
// The label zone is upstream's: region and zone with ":\x00:" between them, or empty if a node has neither. The series
// of a zone without nodes disappear at the next collection; upstream's stay. Durations are in seconds. Upstream's
// pod_deletion_duration_seconds is, up to 1.36 at least, in seconds times 10⁹, which makes its buckets useless.
// Upstream measures the health check of each node, whether or not there is something to write; here a check is too
// cheap to measure, so only the write counts.
package metrics
