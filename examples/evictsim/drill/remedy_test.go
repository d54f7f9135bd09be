package drill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// What helps is played where others keep pods from the nodes that are left, and where settings keep them on the lost ones. Settings
// that let pods leave earlier say what a false alarm costs then.
func TestWhatHelpsAgainstTaintsCordonsAndSettings(t *testing.T) {
	three, each := []string{"a", "b", "c"}, []string{"a0", "a1", "b0", "b1", "c0", "c1"}
	left := func(c *Cluster, change func(*v1.Node)) {
		for _, n := range c.objects.Nodes {
			if n.Labels[v1.LabelTopologyZone] != "a" {
				change(n)
			}
		}
	}
	for name, test := range map[string]struct {
		small
		change       func(c *Cluster, loss *Loss)
		because      string
		remedies     []string
		how          string // the first one
		byASetting   bool
		refusedWhere string
	}{
		"the other nodes have taints": {
			small: small{three, "ReplicaSet", each[:2], nil, nil},
			change: func(c *Cluster, _ *Loss) {
				left(c, func(n *v1.Node) {
					n.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "infra", Effect: v1.TaintEffectNoSchedule}}
				})
			},
			because: "pods do not tolerate the taints of the other nodes", refusedWhere: "0/6 nodes: 4 taint, 2 not Ready",
			remedies: []string{"tolerations of the other nodes' taints"}, how: "- {key: dedicated, operator: Exists}",
		},
		"the other nodes are cordoned": {
			small:   small{three, "ReplicaSet", each[:2], nil, nil},
			change:  func(c *Cluster, _ *Loss) { left(c, func(n *v1.Node) { n.Spec.Unschedulable = true }) },
			because: "the other nodes are cordoned", refusedWhere: "0/6 nodes: 4 cordoned, 2 not Ready",
			remedies: []string{"uncordoned nodes"}, how: "kubectl uncordon b0 b1 c0 …",
		},
		"nodes take turns slowly": {
			small:   small{three, "ReplicaSet", each, nil, nil},
			change:  func(c *Cluster, _ *Loss) { c.Config.Nodes.NodeEvictionRate = 0.001 },
			because: "pods wait for their node's turn", byASetting: true,
			remedies: []string{"node-eviction-rate=0.01"}, how: "kube-controller-manager --node-eviction-rate=0.01, or the same flag of evictord",
		},
		"silence counts late": {
			small:   small{three, "ReplicaSet", each, nil, nil},
			change:  func(c *Cluster, _ *Loss) { c.Config.Nodes.NodeMonitorGracePeriod = 10 * time.Minute },
			because: "pods wait until the silence of their node counts", byASetting: true,
			remedies: []string{"node-monitor-grace-period=40s"}, how: "kube-controller-manager --node-monitor-grace-period=40s, or the same flag of evictord",
		},
		"turns never come in a small zone of which most is lost": {
			small: small{three, "Job", each, nil, job(6)},
			change: func(c *Cluster, loss *Loss) {
				left(c, func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = "a" })
				loss.Nodes = each[:4]
			},
			because: "the turn of their nodes never came: evictions are slow or stop where many nodes have failed", byASetting: true,
			remedies: []string{"unhealthy-zone-threshold=1", "secondary-node-eviction-rate=0.1"},
			how:      "kube-controller-manager --unhealthy-zone-threshold=1, or the same flag of evictord",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.open(t)
			losses, err := c.Losses(nil, time.Hour)
			require.NoError(t, err)
			test.change(c, &losses[0])
			today, err := c.Play(t.Context(), losses[0])
			require.NoError(t, err)
			b, err := c.Break(t.Context(), today, func() {})
			require.NoError(t, err)
			require.Len(t, b.Groups, 1)
			g := b.Groups[0]
			require.Equal(t, test.because, g.Cause)
			require.Equal(t, test.refusedWhere, g.Refused)
			var names []string
			for i := range g.Remedies {
				m := &g.Remedies[i]
				names = append(names, m.Name)
				require.Less(t, m.PodHoursLost, b.PodHoursLost, m.Name)
				if test.byASetting {
					require.Greater(t, m.Hasty, b.Hasty, m.Name)
				} else {
					require.Equal(t, -1, m.Hasty, m.Name)
				}
			}
			require.Equal(t, test.remedies, names)
			require.Contains(t, g.Remedies[0].How, test.how)
		})
	}
}

// Other types of objects stay as they are, and are not copied.
func TestOnlyObjectsOfTheTypeAreCopied(t *testing.T) {
	claims := volume()
	s := simulation.Scenario{}
	for _, object := range claims {
		switch o := object.(type) {
		case *v1.PersistentVolumeClaim:
			s.Objects = append(s.Objects, o)
		case *v1.PersistentVolume:
			s.Objects = append(s.Objects, o)
		}
	}
	before := s.Objects
	onObjects(func(pv *v1.PersistentVolume) { pv.Name = "other" })(&s)
	require.Same(t, before[0], s.Objects[0])
	require.Equal(t, "other", s.Objects[1].(*v1.PersistentVolume).Name)
	require.Equal(t, "pv", before[1].(*v1.PersistentVolume).Name)
}

// What a remedy promises is what the same loss costs a cluster whose objects are so.
func TestARemedyDoesWhatItPromises(t *testing.T) {
	three, each := []string{"a", "b", "c"}, []string{"a0", "a1", "b0", "b1", "c0", "c1"}
	honor := func(c *v1.TopologySpreadConstraint) {
		policy := v1.NodeInclusionPolicyHonor
		c.NodeTaintsPolicy = &policy
	}
	ignores := job(0)
	failed, on := batchv1.Failed, []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}
	spec := &ignores[0].(*batchv1.Job).Spec
	spec.PodReplacementPolicy = &failed
	spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: on}}}
	for name, test := range map[string]struct{ is, so small }{
		"nodeTaintsPolicy: Honor": {
			small{three, "ReplicaSet", each, spread(countsTaintedNodes), nil}, small{three, "ReplicaSet", each, spread(honor), nil},
		},
		"backoffLimit: 2": {small{three, "Job", each, nil, job(0)}, small{three, "Job", each, nil, job(2)}},
		"podFailurePolicy that ignores disruptions": {small{three, "Job", each, nil, job(0)}, small{three, "Job", each, nil, ignores}},
	} {
		b, promised := test.is.broken(t), make(map[string]Effect)
		for i := range b.Groups[0].Remedies {
			promised[b.Groups[0].Remedies[i].Name] = b.Groups[0].Remedies[i].Effect
		}
		played, err := test.so.open(t).Play(t.Context(), b.Loss)
		require.NoError(t, err)
		require.Contains(t, promised, name)
		require.Equal(t, effectOf(played.Report), promised[name], name)
		require.NotEqual(t, b.Effect, promised[name], name)
	}
}
