package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/zone"
)

// fileNode is a Ready node as a file holds it.
func fileNode(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}}}
}

// filePod is a Ready pod of a controller, as a file holds it. It has no tolerations.
func filePod(name, node, kind, owner string, labels map[string]string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("u" + name), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: &isTrue}},
		},
		Spec:   v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "c"}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
}

var ingress = map[string]string{"app": "ingress"}

// A kubelet labels its node with its hostname, so a pod that is spread by hostname may go to a node that joins.
func TestAnAddedNodeHasAHostname(t *testing.T) {
	spread := func(p *v1.Pod) *v1.Pod {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: ingress},
		}}
		return p
	}
	_, r := play(t, Scenario{
		Nodes: []*v1.Node{fileNode("n0"), fileNode("n1")},
		Pods:  []*v1.Pod{spread(filePod("ing-0", "n0", "ReplicaSet", "ing", ingress)), spread(filePod("ing-1", "n1", "ReplicaSet", "ing", ingress))},
		Events: []Event{
			{At: time.Minute, AddNode: &AddNode{Name: "n2", Zone: "z1"}},
			{At: 2 * time.Minute, Drain: &Drain{Nodes: *named("n0")}},
		},
		Until: time.Hour,
	})
	require.Zero(t, r.PendingAtEnd, "n2 is Ready and empty")
}

// One node has room for one of two pods that exclude each other by hostname, also if the node was generated, replaced, or has a
// hostname of its own.
func TestPodsThatExcludeEachOtherByHostname(t *testing.T) {
	apart := func(p *v1.Pod) *v1.Pod {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: ingress},
		}}}}
		return p
	}
	for name, test := range map[string]struct {
		zones []Zone
		event Event
	}{
		"Added":     {event: Event{AddNode: &AddNode{Name: "n2", Zone: "z1"}}},
		"OwnLabel":  {event: Event{AddNode: &AddNode{Name: "n2", Zone: "z1", NodeFields: NodeFields{Labels: map[string]string{v1.LabelHostname: "other"}}}}},
		"Generated": {zones: []Zone{{Name: "z1", Nodes: 1}}, event: Event{Cordon: named("n0")}},
		"Replaced":  {zones: []Zone{{Name: "z1", Nodes: 1}}, event: Event{ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{"z1-000"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			test.event.At = time.Minute
			_, r := play(t, Scenario{
				Nodes:  []*v1.Node{fileNode("n0"), fileNode("n1")},
				Zones:  test.zones,
				Pods:   []*v1.Pod{apart(filePod("ing-0", "n0", "ReplicaSet", "ing", ingress)), apart(filePod("ing-1", "n1", "ReplicaSet", "ing", ingress))},
				Events: []Event{test.event, {At: 2 * time.Minute, Drain: &Drain{Nodes: *named("n0", "n1")}}},
				Until:  time.Hour,
			})
			require.Equal(t, 1, r.PendingAtEnd)
		})
	}
}

// What the user says about a node wins over what a kubelet would say.
func TestOwnLabelsReplaceThoseOfTheKubelet(t *testing.T) {
	own := map[string]string{v1.LabelArchStable: "arm64"}
	all := nodeLabels("n", zone.Key{Zone: "a", Region: "r"}, own)
	require.Equal(t, "arm64", all[v1.LabelArchStable])
	require.Equal(t, "n", all[v1.LabelHostname])
	require.Len(t, all, 7)
	require.Len(t, own, 1, "it is the user's")
}
