package simulator

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// naiveBest looks at every node and pod.
func naiveBest(c *Cluster, spec *PodSpec) (best string) {
	least := 0
	c.Nodes(func(n *v1.Node) bool {
		open := !n.Spec.Unschedulable
		for _, condition := range n.Status.Conditions {
			open = open && (condition.Type != v1.NodeReady || condition.Status == v1.ConditionTrue)
		}
		if _, not := taints.Untolerated(n.Spec.Taints, spec.Tolerations, taints.Scheduling); not || !open {
			return true
		}
		load := 0
		c.PodsOnNode(n.Name, func(p *v1.Pod) bool {
			if p.DeletionTimestamp == nil && (len(p.OwnerReferences) == 0 || p.OwnerReferences[0].Kind != "DaemonSet") {
				load++
			}
			return true
		})
		if best == "" || load < least || load == least && n.Name < best {
			best, least = n.Name, load
		}
		return true
	})
	return best
}

func TestPodsComeBackOnTheNodeThatANaiveSearchFinds(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 30 {
		c := New(&Clock{})
		c.indexLoad(scenario.Edition1)
		c.StartKubelets(1e10, 1e11, true)
		some := 0
		for step := range 300 {
			node := fmt.Sprint("n", r.Intn(8))
			key := evictor.PodKey{Namespace: "default", Name: fmt.Sprint("p", r.Intn(30))}
			effect := []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute, "Unheard"}[r.Intn(4)]
			switch r.Intn(14) {
			case 0, 1:
				_ = c.AddNode(node, zone.Key{})
			case 2:
				c.DeleteNode(node)
			case 3:
				c.Fail(node)
			case 4:
				c.Recover(node)
			case 5:
				c.SetTaint(node, v1.Taint{Key: "k", Effect: effect})
			case 6:
				c.RemoveTaint(node, "k", effect)
			case 7:
				c.Cordon(node, r.Intn(3) == 0)
			case 8:
				c.SetCondition(node, v1.NodeReady, []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse}[r.Intn(2)])
			case 9, 10, 11:
				_ = c.AddPod(key, node, PodSpec{OwnerKind: []string{"", "ReplicaSet", "DaemonSet"}[r.Intn(3)]})
			case 12:
				c.DeletePod(key)
			case 13:
				c.SetPhase(key, []v1.PodPhase{v1.PodRunning, v1.PodSucceeded}[r.Intn(2)])
			}
			for _, spec := range []*PodSpec{{}, {Tolerations: []v1.Toleration{{Key: "k", Operator: v1.TolerationOpExists}}}} {
				i, ok := c.load.best(c, c.spec(*spec), "default")
				got := ""
				if ok {
					got = c.nodes[i].name
					some++
				}
				require.Equal(t, naiveBest(c, spec), got, step)
			}
		}
		require.Positive(t, some)
	}
}
