package node

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
)

// Shadow is what a dry run would have written to a node. The zero Shadow is empty.
type Shadow struct {
	uid        types.UID // the node's; a shadow with another UID is that of an earlier node
	conditions []v1.NodeCondition
	heartbeat  metav1.Time // the Ready condition's when they were written: the kubelet's next report replaces them
	managed    []v1.Taint  // all taints of ours after the last write of taints
	tainted    bool        // there was such a write
	labels     map[string]string
}

// Over returns the node as it would be with the writes; it does not change its argument.
func (s *Shadow) Over(node *v1.Node) *v1.Node {
	if s == nil || s.uid != node.UID {
		return node
	}
	shown := *node
	if s.heartbeat.Equal(&ReadyOf(node).LastHeartbeatTime) {
		shown.Status.Conditions = Overlay(node.Status.Conditions, s.conditions)
	}
	if s.tainted {
		foreign := those(node.Spec.Taints, func(t *v1.Taint) bool { return !Managed(t) })
		shown.Spec.Taints = append(foreign, s.managed...)
	}
	if len(s.labels) > 0 {
		shown.Labels = make(map[string]string, len(node.Labels)+len(s.labels))
		maps.Copy(shown.Labels, node.Labels)
		maps.Copy(shown.Labels, s.labels)
	}
	return &shown
}

// of empties the shadow if it is that of another node.
func (s *Shadow) of(node *v1.Node) *Shadow {
	if s.uid != node.UID {
		*s = Shadow{uid: node.UID}
	}
	return s
}

// Conditions records conditions that would have been written.
func (s *Shadow) Conditions(node *v1.Node, conditions []v1.NodeCondition) {
	s.of(node).heartbeat = ReadyOf(node).LastHeartbeatTime
	s.conditions = Overlay(s.conditions, conditions)
}

// Heard is called when the node's lease shows that it lives. It drops the shadow's conditions and says whether there were
// any. In a real run the kubelet would see Unknown and report soon; in a dry run it sees its own conditions, and may not
// report for minutes.
func (s *Shadow) Heard() (some bool) {
	some = s != nil && len(s.conditions) > 0
	if some {
		s.conditions = nil
	}
	return some
}

// Taints records a change of taints.
func (s *Shadow) Taints(node *v1.Node, change taints.Change, now time.Time) {
	s.of(node).tainted = true
	s.managed = those(change.Apply(node.Spec.Taints, now), Managed)
}

// Labels records labels.
func (s *Shadow) Labels(node *v1.Node, labels map[string]string) {
	if s.of(node).labels == nil {
		s.labels = make(map[string]string, len(labels))
	}
	maps.Copy(s.labels, labels)
}
