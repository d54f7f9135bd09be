package node

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
)

// Shadow is what a dry run would have written to a node. The zero Shadow is nothing.
type Shadow struct {
	uid        types.UID // of the node, or it is of one that is gone
	conditions []v1.NodeCondition
	heartbeat  metav1.Time // of the Ready condition when they were written: the kubelet's next report replaces them
	managed    []v1.Taint  // all taints of ours after the last write
	tainted    bool        // there was one
	labels     map[string]string
}

// Over is a copy of the node with what would have been written to it.
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
		shown.Labels = maps.Clone(s.labels)
		for k, v := range node.Labels {
			if _, written := s.labels[k]; !written {
				shown.Labels[k] = v
			}
		}
	}
	return &shown
}

// of makes it one of that node.
func (s *Shadow) of(node *v1.Node) *Shadow {
	if s.uid != node.UID {
		*s = Shadow{uid: node.UID}
	}
	return s
}

// Conditions takes over conditions that would have been written to a node that was read.
func (s *Shadow) Conditions(node *v1.Node, conditions []v1.NodeCondition) {
	s.of(node).heartbeat = ReadyOf(node).LastHeartbeatTime
	s.conditions = Overlay(s.conditions, conditions)
}

// Heard forgets them, and says whether there were any: the node lives. Its kubelet, if it had found them, would report soon, but it
// finds its own, and need not for minutes.
func (s *Shadow) Heard() (some bool) {
	some = s != nil && len(s.conditions) > 0
	if some {
		s.conditions = nil
	}
	return some
}

// Taints takes over a change of taints.
func (s *Shadow) Taints(node *v1.Node, change taints.Change, now time.Time) {
	s.of(node).tainted = true
	s.managed = those(change.Apply(node.Spec.Taints, now), Managed)
}

// Labels takes over labels.
func (s *Shadow) Labels(node *v1.Node, labels map[string]string) {
	if s.of(node).labels == nil {
		s.labels = make(map[string]string, len(labels))
	}
	maps.Copy(s.labels, labels)
}
