// Package together answers: how do the pods of a JobSet, of a LeaderWorkerSet's replica or of a PodGroup leave together,
// when the node of one of them fails?
//
// evictor/together evicts groups: before a pod leaves, it asks who must leave with it. Here those are the other pods of a
// group that is useless in part. An index of the program's own pod informer finds them. A group that would rather wait for
// its node says for how long; until then a Gate refuses each of its pods, so all of them stay. The test plays a failing node
// in virtual time.
package together

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
)

// Labels by which the pods of a JobSet, and those of one replica of a LeaderWorkerSet, know each other.
const (
	JobSet          = "jobset.sigs.k8s.io/jobset-name"
	LeaderWorkerSet = "leaderworkerset.sigs.k8s.io/group-key"
)

// Keep is the label of a pod that says for how long its group stays after the pod's node was tainted, such as 30m.
const Keep = "example.com/keep"

// Index is the name of the index by group.
const Index = "group"

// Groups finds the pods that leave together.
type Groups struct {
	// Pods is the indexer of an informer of whole pods with Indexers: package clientgo keeps labels, and annotations and
	// owners that Keep names, but not a pod's reference to its PodGroup.
	Pods cache.Indexer
	// PodGroup returns a PodGroup, nil if there is none.
	PodGroup func(namespace, name string) *schedulingv1beta1.PodGroup
	Clock    clock.PassiveClock
}

// Indexers are for the informer.
func Indexers() cache.Indexers {
	return cache.Indexers{Index: func(object any) ([]string, error) {
		pod, _ := object.(*v1.Pod)
		for _, label := range []string{JobSet, LeaderWorkerSet} {
			if name := pod.Labels[label]; name != "" {
				return []string{pod.Namespace + "/" + label + "/" + name}, nil
			}
		}
		if name := podGroup(pod); name != "" {
			return []string{pod.Namespace + "/PodGroup/" + name}, nil
		}
		return nil, nil
	}}
}

func podGroup(pod *v1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return ""
}

// Group is for a together.Writer.
func (g *Groups) Group(pod *v1.Pod) (others []evictor.PodKey) {
	object, _, _ := g.Pods.GetByKey(pod.Namespace + "/" + pod.Name)
	whole, ok := object.(*v1.Pod)
	if !ok {
		return nil
	}
	if name := podGroup(whole); name != "" && !g.leavesWhole(whole.Namespace, name) {
		return nil
	}
	group, _ := g.Pods.Index(Index, whole)
	for _, object := range group {
		if other, ok := object.(*v1.Pod); ok && other.Name != pod.Name {
			others = append(others, evictor.PodKey{Namespace: other.Namespace, Name: other.Name})
		}
	}
	return others
}

// May is a Gate. The evictor asks it about the condemned pod, and the together.Writer about the others, with the condemned
// pod's deadline.
func (g *Groups) May(_ context.Context, act gate.Act) error {
	if act.Do != gate.Evict {
		return nil
	}
	keep, err := time.ParseDuration(act.Pod.Labels[Keep])
	if err != nil {
		return nil //nolint:nilerr // no label keeps it
	}
	if until := act.Why.At.Add(keep - act.Why.For); g.Clock.Now().Before(until) {
		return &gate.Refused{Reason: "its group is kept", Again: until}
	}
	return nil
}

// leavesWhole says whether the pods of a PodGroup can only be disrupted together.
func (g *Groups) leavesWhole(namespace, name string) bool {
	group := g.PodGroup(namespace, name)
	return group != nil && group.Spec.DisruptionMode != nil && group.Spec.DisruptionMode.All != nil
}
