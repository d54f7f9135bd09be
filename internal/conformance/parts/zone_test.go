package parts

import (
	"math"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-helpers/node/topology"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"

	"github.com/evictkit/evictkit/zone"
)

// Upstream's key of a zone is a string. Ours is the parts, from which that string can be made.
func requireSameZone(t *testing.T, labels map[string]string) {
	want, key := topology.GetZoneKey(&v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}), zone.KeyOf(labels)
	require.Equal(t, want == "", key == zone.Key{}, labels)
	if want != "" {
		require.Equal(t, want, key.Region+":\x00:"+key.Zone, labels)
	}
}

// Each label is absent, empty or one of two values.
func TestZoneKeysAreUpstreams(t *testing.T) {
	requireSameZone(t, nil)
	names := []string{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone}
	values := []string{"absent", "", "a", "b"}
	for n := range 4 * 4 * 4 * 4 {
		labels := map[string]string{"other": "c"}
		for i, name := range names {
			if value := values[n>>(2*i)&3]; value != "absent" {
				labels[name] = value
			}
		}
		requireSameZone(t, labels)
	}
}

func FuzzZoneKey(f *testing.F) {
	f.Add("a", "b", "c", "d", byte(15))
	f.Add("a:", ":b", "", "\x00", byte(9))
	f.Fuzz(func(t *testing.T, betaRegion, region, betaZone, zone string, present byte) {
		labels := map[string]string{}
		for i, label := range []struct{ name, value string }{
			{v1.LabelFailureDomainBetaRegion, betaRegion}, {v1.LabelTopologyRegion, region}, {v1.LabelFailureDomainBetaZone, betaZone}, {v1.LabelTopologyZone, zone},
		} {
			if present>>i&1 == 1 {
				labels[label.name] = label.value
			}
		}
		requireSameZone(t, labels)
	})
}

// nodeController is upstream's. It never runs.
func nodeController(t *testing.T, p zone.DisruptionPolicy) *nodelifecycle.Controller {
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	c, err := nodelifecycle.NewNodeLifecycleController(klog.NewContext(t.Context(), logr.Discard()),
		factory.Coordination().V1().Leases(), factory.Core().V1().Pods(), factory.Core().V1().Nodes(), factory.Apps().V1().DaemonSets(),
		client, 5*time.Second, time.Minute, 50*time.Second, float32(p.EvictionRate), float32(p.SecondaryEvictionRate),
		int32(p.LargeZoneThreshold), float32(p.UnhealthyThreshold))
	require.NoError(t, err)
	return c
}

func TestZoneStatesAndRatesAreUpstreams(t *testing.T) {
	const most = 130 // members of a zone
	ready := &v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue}
	bad := []*v1.NodeCondition{nil, {Type: v1.NodeReady, Status: v1.ConditionFalse}, {Type: v1.NodeReady, Status: v1.ConditionUnknown}, {Type: v1.NodeReady}}
	conditions := make([]*v1.NodeCondition, 0, 2*most) // the bad ones first
	for i := range most {
		conditions = append(conditions, bad[i%len(bad)])
	}
	for range most {
		conditions = append(conditions, ready)
	}
	f := fired{}
	states := map[zone.State]int{}
	for _, threshold := range []float64{0.55, 0.55 + 1e-9, 0.01, 1. / 3, 0.5, 0.7, 0.999, 1, 0, 1.5, math.NaN()} {
		for _, large := range []int{50, 0, 3} {
			p := zone.DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: large, UnhealthyThreshold: threshold}
			upstream := nodeController(t, p)
			if err := p.Validate(); err != nil {
				require.NotNil(t, upstream)
				f[validated]++
				continue
			}
			for total := range most + 1 {
				for down := range total + 1 {
					counts := zone.Counts{Total: total, Bad: down}
					n, want := upstream.ComputeZoneState(conditions[most-down : most+total-down])
					require.Equal(t, down, n)
					ruling := p.Decide(zone.Situation{Status: zone.Status{Counts: counts}})
					state := ruling.State
					require.Equal(t, string(want), string(state), "%+v %v", counts, threshold)
					states[state]++
					qps := upstream.HealthyQPSFunc(total) // also for Initial, because the queue is made with it
					if state == zone.PartialDisruption {
						qps = upstream.ReducedQPSFunc(total)
					}
					require.Equal(t, qps, float32(ruling.Rate), "%+v %v", counts, threshold)
				}
			}
		}
	}
	require.Len(t, states, 3, states)
	f.requireAll(t, zoneRules...)
}
