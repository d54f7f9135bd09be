package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// expect compares the metrics of these names with samples, without buckets.
func expect(t *testing.T, m prometheus.Gatherer, want string, names ...string) {
	t.Helper()
	families, err := m.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, family := range families {
		if slices.Contains(names, family.GetName()) {
			_, err := expfmt.MetricFamilyToText(&text, family)
			require.NoError(t, err)
		}
	}
	samples := slices.DeleteFunc(strings.Split(text.String(), "\n"), func(line string) bool { return line == "" || line[0] == '#' || strings.Contains(line, "_bucket") })
	require.Equal(t, strings.Fields(want), strings.Fields(strings.Join(samples, "\n")))
}

func TestUpstreamsNamesAndLabels(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
	m := metrics.New(metrics.Options{Clock: cluster.Clock()})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	e := cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: m})
	m.Watch(e.Nodes(), e.Pods(), nil)
	cluster.Fail("a-0")
	cluster.Advance(7 * time.Minute)
	require.NotEmpty(t, cluster.Evicted())
	expect(t, registry, strings.ReplaceAll(`
evictkit_queue_depth{queue="evictions"} 0
evictkit_queue_depth{queue="nodes"} 0
node_collector_evictions_total{zone=":0:a"} 1
node_collector_evictions_total{zone=":0:b"} 0
node_collector_unhealthy_nodes_in_zone{zone=":0:a"} 1
node_collector_unhealthy_nodes_in_zone{zone=":0:b"} 0
node_collector_zone_health{zone=":0:a"} 66.66666666666667
node_collector_zone_health{zone=":0:b"} 100
node_collector_zone_size{zone=":0:a"} 3
node_collector_zone_size{zone=":0:b"} 3
taint_eviction_controller_pod_deletion_duration_seconds_sum 0
taint_eviction_controller_pod_deletion_duration_seconds_count 2
taint_eviction_controller_pod_deletions_total 2`, ":0:", ":\x00:"),
		"node_collector_zone_health", "node_collector_zone_size", "node_collector_unhealthy_nodes_in_zone", "node_collector_evictions_total",
		"taint_eviction_controller_pod_deletions_total", "taint_eviction_controller_pod_deletion_duration_seconds", "evictkit_queue_depth")
}

// TestEvictionsOfNodes are counted as upstream counts them: what a node's turn brings.
func TestEvictionsOfNodes(t *testing.T) {
	own, other := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}
	theirs, schedule := v1.Taint{Key: "theirs", Effect: v1.TaintEffectNoExecute}, v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule}
	for name, row := range map[string]struct {
		d    nodelifecycle.Decision
		want string
	}{
		"added":         {nodelifecycle.Decision{Kind: nodelifecycle.TaintsWritten, Added: []v1.Taint{schedule, own}}, `node_collector_evictions_total{zone=""} 1`},
		"swapped":       {nodelifecycle.Decision{Kind: nodelifecycle.TaintsWritten, Added: []v1.Taint{own}, Removed: []v1.Taint{other}}, ""},
		"NoSchedule":    {nodelifecycle.Decision{Kind: nodelifecycle.TaintsWritten, Added: []v1.Taint{schedule}}, ""},
		"beside theirs": {nodelifecycle.Decision{Kind: nodelifecycle.TaintsWritten, Added: []v1.Taint{own}, Removed: []v1.Taint{theirs}}, `node_collector_evictions_total{zone=""} 1`},
		"emptied":       {nodelifecycle.Decision{Kind: nodelifecycle.NodeEmptied}, `node_collector_evictions_total{zone=""} 1`},
	} {
		t.Run(name, func(t *testing.T) {
			m := metrics.New(metrics.Options{})
			m.ObserveNode(row.d)
			expect(t, gathered(t, m), row.want, "node_collector_evictions_total")
		})
	}
}

// TestADisruptedZoneIsOneByItsPolicy: with another threshold the same zone is disrupted, and so is one of a single node.
func TestADisruptedZoneIsOneByItsPolicy(t *testing.T) {
	for threshold, want := range map[float64]string{0.55: "0", 0.5: "1"} {
		cluster := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 1))
		m := metrics.New(metrics.Options{Clock: cluster.Clock()})
		config := evictor.DefaultConfig()
		config.Nodes.UnhealthyZoneThreshold = threshold
		e := cluster.Start(config, evictor.Options{Observer: m})
		m.Watch(e.Nodes(), e.Pods(), nil)
		cluster.Fail("a-0", "a-1", "a-2", "b-0")
		cluster.Advance(2 * time.Minute)
		expect(t, gathered(t, m), strings.ReplaceAll(`
evictkit_zone_disrupted{zone=":0:a"} `+want+`
evictkit_zone_disrupted{zone=":0:b"} 1`, ":0:", ":\x00:"), "evictkit_zone_disrupted")
	}
}

func TestLatencyIsInSecondsSinceTheDeadline(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	m := metrics.New(metrics.Options{Clock: clock})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	m.ObservePod(tainteviction.Decision{Kind: tainteviction.PodEvicted, Taint: &v1.Taint{}, Deadline: time.Unix(997, 0)})
	m.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.PodEvicted}) // emptied, not tainted
	expect(t, registry, `
taint_eviction_controller_pod_deletion_duration_seconds_sum 3
taint_eviction_controller_pod_deletion_duration_seconds_count 1
taint_eviction_controller_pod_deletions_total 1`, "taint_eviction_controller_pod_deletions_total", "taint_eviction_controller_pod_deletion_duration_seconds")
}

// twoBudgets is the API server's answer to the eviction of a pod that two disruption budgets select.
var twoBudgets = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
	Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
}}

// refusing answers each write with an error.
type refusing struct{ err error }

func (r refusing) UpdateConditions(context.Context, *v1.Node, []v1.NodeCondition) error { return r.err }
func (r refusing) UpdateTaints(context.Context, *v1.Node, taints.Change) error          { return r.err }
func (r refusing) UpdateLabels(context.Context, *v1.Node, map[string]string) error      { return r.err }
func (r refusing) Evict(context.Context, evictor.PodRef, taints.Deadline) error         { return r.err }
func (r refusing) MarkNotReady(context.Context, evictor.PodRef) error                   { return r.err }

func TestErrorsAreCountedByTheirKind(t *testing.T) {
	m := metrics.New(metrics.Options{})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	ctx := context.Background()
	for _, err := range []error{
		nil, apierrors.NewTooManyRequests("the budget", 1), apierrors.NewConflict(v1.Resource("nodes"), "n", nil),
		errors.New("connection refused"), context.DeadlineExceeded,
		twoBudgets, // and a webhook's own words:
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: "pod shop/cart is protected"}},
		&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusTeapot}},
	} {
		clients := m.Clients(evictor.Clients{NodeWriter: refusing{err}, PodWriter: refusing{err}})
		require.Equal(t, err, clients.NodeWriter.UpdateConditions(ctx, nil, nil))
		require.Equal(t, err, clients.NodeWriter.UpdateTaints(ctx, nil, taints.Change{}))
		require.Equal(t, err, clients.NodeWriter.UpdateLabels(ctx, nil, nil))
		require.Equal(t, err, clients.PodWriter.Evict(ctx, evictor.PodRef{}, taints.Deadline{}))
		require.Equal(t, err, clients.PodWriter.MarkNotReady(ctx, evictor.PodRef{}))
	}
	var want strings.Builder
	for _, operation := range []string{"conditions", "evict", "labels", "mark", "taints"} {
		for _, reason := range []string{"Conflict", "Forbidden", "InternalError", "NoAnswer", "TooManyRequests", "Unknown", "Unreachable"} {
			fmt.Fprintf(&want, "evictkit_api_errors_total{operation=%q,reason=%q} 1\n", operation, reason)
		}
	}
	expect(t, registry, want.String(), "evictkit_api_errors_total")
}

func TestRequestsAreCounted(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	m := metrics.New(metrics.Options{})
	client := http.Client{Transport: m.Transport(http.DefaultTransport)}
	response, err := client.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	server.Close()
	response, err = client.Get(server.URL)
	if err == nil {
		response.Body.Close()
	}
	require.Error(t, err)
	host := strings.TrimPrefix(server.URL, "http://")
	expect(t, gathered(t, m), fmt.Sprintf(`
rest_client_requests_total{code="404",host=%q,method="GET"} 1
rest_client_requests_total{code="<error>",host=%q,method="GET"} 1`, host, host), "rest_client_requests_total")
}

// slowly answers each write after a second of the clock.
type slowly struct {
	refusing
	clock *clocktesting.FakePassiveClock
}

func (s slowly) UpdateConditions(context.Context, *v1.Node, []v1.NodeCondition) error {
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	return nil
}

// TestDurationsAreInSeconds, in upstream's buckets.
func TestDurationsAreInSeconds(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	m := metrics.New(metrics.Options{Clock: clock})
	m.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.Passed, Took: 40 * time.Millisecond})
	require.NoError(t, m.Clients(evictor.Clients{NodeWriter: slowly{clock: clock}}).NodeWriter.UpdateConditions(context.Background(), nil, nil))
	m.ObservePod(tainteviction.Decision{Kind: tainteviction.PodEvicted, Taint: &v1.Taint{}, Deadline: clock.Now().Add(time.Second)}) // a clock that was set back
	expect(t, gathered(t, m), `
node_collector_update_all_nodes_health_duration_seconds_sum 0.04
node_collector_update_all_nodes_health_duration_seconds_count 1
node_collector_update_node_health_duration_seconds_sum 1
node_collector_update_node_health_duration_seconds_count 1
taint_eviction_controller_pod_deletion_duration_seconds_sum 0
taint_eviction_controller_pod_deletion_duration_seconds_count 1`,
		"node_collector_update_all_nodes_health_duration_seconds", "node_collector_update_node_health_duration_seconds", "taint_eviction_controller_pod_deletion_duration_seconds")
	families, err := gathered(t, m).Gather()
	require.NoError(t, err)
	bounds := make(map[string][]float64)
	for _, family := range families {
		for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
			bounds[family.GetName()] = append(bounds[family.GetName()], bucket.GetUpperBound())
		}
	}
	require.Equal(t, map[string][]float64{
		"node_collector_update_all_nodes_health_duration_seconds": {0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84},
		"node_collector_update_node_health_duration_seconds":      {0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096, 16.384},
		"taint_eviction_controller_pod_deletion_duration_seconds": {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240},
	}, bounds)
}

func TestDecisionsAreCountedByTheirKind(t *testing.T) {
	m := metrics.New(metrics.Options{})
	m.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.PodSpared})
	m.ObservePod(tainteviction.Decision{Kind: tainteviction.EvictionArmed})
	expect(t, gathered(t, m), `
evictkit_decisions_total{kind="EvictionArmed"} 1
evictkit_decisions_total{kind="PodSpared"} 1`, "evictkit_decisions_total")
}

// TestDelaysAreCountedByWhatHoldsBack, which for the program's own refusals is the program's reason.
func TestDelaysAreCountedByWhatHoldsBack(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(3))
	m := metrics.New(metrics.Options{Clock: cluster.Clock()})
	cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: m, Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		switch {
		case act.Do != gate.Evict:
		case act.Pod.Name == "a-0-p0":
			return fmt.Errorf("pod %s: %w", act.Pod.Name, &gate.Refused{Reason: "no room"})
		case act.Pod.Name == "a-0-p1":
			return errors.New("no")
		}
		return nil
	})})
	cluster.Fail("a-0")
	cluster.Advance(20 * time.Minute)
	require.Equal(t, []string{"a-0-p2"}, cluster.Evicted())
	expect(t, gathered(t, m), `
evictkit_evictions_delayed_total{reason="Refused"} 1
evictkit_evictions_delayed_total{reason="no room"} 1`, "evictkit_evictions_delayed_total")
}

// TestAZoneThatIsGoneIsForgotten; upstream shows it for ever.
func TestAZoneThatIsGoneIsForgotten(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 1))
	m := metrics.New(metrics.Options{Clock: cluster.Clock()})
	e := cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: m})
	m.Watch(e.Nodes(), e.Pods(), nil)
	registry := gathered(t, m)
	cluster.Advance(time.Minute)
	expect(t, registry, strings.ReplaceAll(`
node_collector_zone_size{zone=":0:a"} 3
node_collector_zone_size{zone=":0:b"} 1`, ":0:", ":\x00:"), "node_collector_zone_size")
	cluster.DeleteNode("b-0")
	cluster.Advance(time.Minute)
	expect(t, registry, strings.ReplaceAll(`
node_collector_evictions_total{zone=":0:a"} 0
node_collector_zone_health{zone=":0:a"} 100
node_collector_zone_size{zone=":0:a"} 3`, ":0:", ":\x00:"), "node_collector_zone_size", "node_collector_zone_health", "node_collector_evictions_total")
}

// TestANodeThatNamesAZoneAtEachReport leaves the series of one: a kubelet may write its own labels. Each zone is one that an eviction
// is counted of, too.
func TestANodeThatNamesAZoneAtEachReport(t *testing.T) {
	for name, collected := range map[string]bool{"collected": true, "read by nobody": false} {
		t.Run(name, func(t *testing.T) {
			cluster := evictortest.New(t, evictortest.Zone("a", 1))
			m := metrics.New(metrics.Options{Clock: cluster.Clock()})
			e := cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: m})
			m.Watch(e.Nodes(), e.Pods(), nil)
			registry := gathered(t, m)
			const zones = 3000
			for i := range zones {
				cluster.Relabel("a-0", zone.Key{Zone: fmt.Sprint(i)})
				cluster.Advance(5 * time.Second)
				m.ObserveNode(nodelifecycle.Decision{Kind: nodelifecycle.NodeEmptied, Node: "a-0"})
				if collected && i%100 == 0 {
					_, err := registry.Gather()
					require.NoError(t, err)
				}
			}
			counted := make(chan prometheus.Metric, 10*zones)
			m.Evictions().Collect(counted)
			require.Less(t, len(counted), zones/2)
			families, err := registry.Gather()
			require.NoError(t, err)
			for _, family := range families {
				if strings.HasPrefix(family.GetName(), "node_collector_") {
					require.Len(t, family.GetMetric(), 1, family.GetName())
				}
			}
		})
	}
}

func TestRequestsCanBeCountedElsewhere(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total", Help: "Somebody else's."}, []string{"code", "method", "host"}))
	require.ErrorContains(t, registry.Register(metrics.New(metrics.Options{})), "rest_client_requests_total")
	require.NoError(t, registry.Register(metrics.New(metrics.Options{OmitRequests: true})))
}

func TestAnUnwellObserverShows(t *testing.T) {
	m := metrics.New(metrics.Options{})
	var unwell error
	m.Watch(nil, nil, func() error { return unwell })
	expect(t, gathered(t, m), "evictkit_observer_healthy 1", "evictkit_observer_healthy")
	unwell = errors.New("blind")
	expect(t, gathered(t, m), "evictkit_observer_healthy 0", "evictkit_observer_healthy")
}

func gathered(t *testing.T, m *metrics.Metrics) prometheus.Gatherer {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	return registry
}
