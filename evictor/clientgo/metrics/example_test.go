package metrics_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/metrics"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Upstream's dashboards keep working: names and labels are those of kube-controller-manager.
func Example() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 4))
	m := metrics.New(metrics.Options{Clock: cluster.Clock()})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	e := cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: m})
	m.Watch(e.Nodes(), e.Pods(), nil)
	cluster.Fail("a-0")
	cluster.Advance(2 * time.Minute)
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "node_collector_") && !strings.HasSuffix(family.GetName(), "_seconds") {
			family.Help = nil
			var text strings.Builder
			if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
				fmt.Println(err)
			}
			fmt.Print(strings.ReplaceAll(text.String(), "\x00", `\x00`)) // upstream's zone keys have such a byte
		}
	}
	// Output:
	// # TYPE node_collector_evictions_total counter
	// node_collector_evictions_total{zone=":\x00:a"} 1
	// # TYPE node_collector_unhealthy_nodes_in_zone gauge
	// node_collector_unhealthy_nodes_in_zone{zone=":\x00:a"} 1
	// # TYPE node_collector_zone_health gauge
	// node_collector_zone_health{zone=":\x00:a"} 75
	// # TYPE node_collector_zone_size gauge
	// node_collector_zone_size{zone=":\x00:a"} 4
}
