package simulation

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkSpread is an hour of 10,000 nodes and 300,000 pods of 1,000 workloads that lose one of three zones. The pods
// are spread over nothing, over zones, over nodes, or over both.
func BenchmarkSpread(b *testing.B) {
	const nodes, each, workloads = 10_000, 30, 1000
	for _, over := range [][]string{{}, {v1.LabelTopologyZone}, {v1.LabelHostname}, {v1.LabelTopologyZone, v1.LabelHostname}} {
		b.Run(fmt.Sprint(over), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				c := newCluster(clockOf(nil))
				for i := range nodes {
					n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{
						v1.LabelTopologyZone: fmt.Sprint("z", i%3), v1.LabelHostname: fmt.Sprint("n", i),
					}}}
					n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourcePods: resource.MustParse("110")}
					require.NoError(b, c.AddNodeObject(n))
				}
				for i := range nodes * each {
					app := fmt.Sprint("app-", i%workloads)
					p := owned("ReplicaSet", app, fmt.Sprint("p", i), fmt.Sprint("n", i*7%nodes))
					p.Labels = map[string]string{"app": app}
					p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
					for _, topology := range over {
						p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
							TopologyKey: topology, MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
						})
					}
					_, err := c.AddPodObject(p)
					require.NoError(b, err)
				}
				zone := "z0"
				s := Scenario{
					Events: []Event{{At: time.Minute, Fail: &Nodes{Zone: zone}}},
					Until:  time.Hour,
				}
				b.StartTimer()
				r, err := s.playOn(context.Background(), c)
				require.NoError(b, err)
				b.ReportMetric(float64(r.ReturnedPods), "returned")
				b.ReportMetric(float64(r.PendingAtEnd), "pending")
			}
		})
	}
}
