package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
)

// dumped is a cluster as it was read at a time: its nodes and pods are a day old.
func dumped(read time.Time) simulation.Scenario {
	before := metav1.NewTime(read.Add(-24 * time.Hour))
	s := simulation.Scenario{Until: 20 * time.Minute, ReplaceAfter: -1}
	for _, name := range []string{"a", "b", "c"} {
		n := node(name, "z", nil)
		n.CreationTimestamp = before
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(read), LastTransitionTime: before}}
		p := pod(name+"-p", name, "ReplicaSet", "web")
		p.CreationTimestamp = before
		p.Status.Conditions = []v1.PodCondition{
			{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: before}, {Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: before},
		}
		s.Nodes, s.Pods = append(s.Nodes, n), append(s.Pods, p)
	}
	return s
}

// A restart finds the same deadlines, of whatever date the objects are, and if the pods have none.
func TestARestartChangesNoDeadlineOfADump(t *testing.T) {
	for name, read := range map[string]time.Time{
		"now": simulation.Epoch, "before time 0": simulation.Epoch.AddDate(-9, 0, 0), "after it": simulation.Epoch.AddDate(26, 10, 0), "none": {},
	} {
		s := dumped(read)
		for _, p := range s.Pods {
			if read.IsZero() {
				p.CreationTimestamp, p.Status.Conditions = metav1.Time{}, nil
			}
		}
		s.Events = []simulation.Event{{At: time.Minute, Fail: &simulation.Nodes{Names: []string{"a"}}}}
		_, lines := play(t, s)
		want := of(lines, "evict")
		require.Equal(t, []string{"6m45s a a-p"}, want, name)
		s.Events = append(s.Events, simulation.Event{At: 4 * time.Minute, Restart: &simulation.Restart{}})
		_, lines = play(t, s)
		require.Equal(t, want, of(lines, "evict"), name)
	}
}

// A node that was silent in a dump has been for as long as it was Unknown.
func TestANodeThatWasSilentInADumpHasBeenFor(t *testing.T) {
	read := simulation.Epoch.AddDate(26, 10, 0)
	s := dumped(read)
	s.Nodes[0].Status.Conditions[0].Status = v1.ConditionUnknown
	s.Nodes[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(read.Add(-20 * time.Minute))
	s.Events = []simulation.Event{{At: 15 * time.Minute, Recover: &simulation.Nodes{Names: []string{"a"}}}}
	r, _ := play(t, s)
	require.Equal(t, 1, r.Evicted)
	require.Zero(t, r.NeedlessEvictions)
	require.Greater(t, r.EvictionDelayWorst, 20*time.Minute)
}

// A taint that a node already had keeps its age, and so do the pods that tolerate it for a time.
func TestATaintInADumpKeepsItsAge(t *testing.T) {
	read := simulation.Epoch.AddDate(26, 10, 0)
	for name, c := range map[string]struct {
		bound time.Duration // before the cluster was read
		want  string
	}{
		"bound before the taint": {time.Hour, "1m40s a a-p"},
		"bound after it":         {2 * time.Minute, "3m0s a a-p"},
	} {
		s := dumped(read)
		added := metav1.NewTime(read.Add(-200 * time.Second))
		s.Nodes[0].Spec.Taints = []v1.Taint{{Key: "maintenance", Effect: v1.TaintEffectNoExecute, TimeAdded: &added}}
		seconds := int64(300)
		s.Pods[0].Spec.Tolerations = []v1.Toleration{{Key: "maintenance", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
		s.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(read.Add(-c.bound))
		before := s.Nodes[0].DeepCopy()
		_, lines := play(t, s)
		require.Equal(t, []string{c.want}, of(lines, "evict"), name)
		require.Equal(t, before, s.Nodes[0], "Play changes no object")
	}
}
