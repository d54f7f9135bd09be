package simulation

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// spec returns the shared form of a pod's spec.
func (c *cluster) spec(s podSpec) *podSpec {
	key := specKey{s.Key(), s.OwnerKind, s.OwnerName, s.Mirror, s.emptyDir, s.Grace}
	if shared, ok := c.specs[key]; ok {
		return shared
	}
	shared := &s
	c.specs[key] = shared
	return shared
}

// specKey identifies equal specs.
type specKey struct {
	filtered             placement.SpecKey
	ownerKind, ownerName string
	mirror, emptyDir     bool
	grace                int32
}

// addWanted adds a pod that is new, and not one that comes back.
func (c *cluster) addWanted(id podID, p pod, nodeName string) error {
	if err := c.addPod(id, p, nodeName); err != nil {
		return err
	}
	if c.counts(&p) {
		c.leveled(p.member, 1, 0)
	}
	return nil
}

// AddPodObject adds a pod from a file. For a pod on a node that does not exist, or on none, it returns false: nothing
// here decides about that pod.
func (c *cluster) AddPodObject(object *v1.Pod) (bound bool, err error) {
	if _, ok := c.nodeByID[object.Spec.NodeName]; !ok {
		return false, nil
	}
	return true, c.addWanted(c.id(evictor.PodKey{Namespace: object.Namespace, Name: object.Name}), c.podOf(object), object.Spec.NodeName)
}

// podOf is the record of a pod as a file holds it.
func (c *cluster) podOf(object *v1.Pod) pod {
	c.podDated(object)
	c.noteIgnored(&object.Spec)
	c.awaitClaims(object)
	s, member := c.specOf(object)
	p := pod{
		spec: c.spec(s), phase: phaseOf(object.Status.Phase), terminating: object.DeletionTimestamp != nil, bound: c.now(), member: member,
		object: &podTimes{uid: object.UID, created: object.CreationTimestamp},
	}
	if object.Status.StartTime != nil {
		p.object.started = *object.Status.StartTime
	}
	for i := range object.Status.Conditions {
		switch cond := &object.Status.Conditions[i]; cond.Type {
		case v1.PodReady:
			p.ready = cond.Status == v1.ConditionTrue
		case v1.PodScheduled:
			p.object.scheduled = cond.LastTransitionTime
		}
	}
	if len(object.Status.Conditions) == 0 && !p.phase.finished() {
		p.ready = true
	}
	return p
}

// specOf is what of a pod many may share, without its volumes, and its membership.
func (c *cluster) specOf(object *v1.Pod) (s podSpec, member int32) {
	_, mirrors := object.Annotations[v1.MirrorPodAnnotationKey]
	f := c.filters
	s = podSpec{Mirror: mirrors, Spec: placement.Spec{Tolerations: object.Spec.Tolerations, Needs: f.NeedsOf(object), Labels: f.LabelsOf(&object.ObjectMeta)}}
	s.emptyDir = slices.ContainsFunc(object.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil })
	if owner := metav1.GetControllerOf(object); owner != nil {
		s.OwnerKind, s.OwnerName = owner.Kind, owner.Name
	}
	if seconds := object.Spec.TerminationGracePeriodSeconds; seconds != nil && c.readyAfter > 0 {
		s.Grace = int32(min(max(*seconds, 0), mostGrace)) //nolint:gosec // it fits
	}
	kind, name := ControllerOf(&object.ObjectMeta)
	return s, c.member(object.Namespace, kind, name, s.Labels)
}

// newPod is the record of a pod that is bound to a node now. It runs and is Ready at once, unless the kubelet does not
// reach the API: then the kubelet starts it once it does.
func (c *cluster) newPod(spec *podSpec, member int32, on *node) pod {
	p := pod{spec: spec, ready: true, bound: c.now(), member: member}
	if on.failed || c.kubelets.down {
		p.ready, p.unstarted, p.phase = false, true, pending
	}
	return p
}

func (c *cluster) addPod(id podID, p pod, nodeName string) error {
	at, ok := c.nodeByID[nodeName]
	if !ok {
		return fmt.Errorf("pod %s: node %s does not exist", id.name, nodeName)
	}
	if _, known := c.podByID[id]; known || len(c.unboundKeys) > 0 && c.holds(c.spaces[id.space], id.name) {
		return fmt.Errorf("pod %s/%s already exists", c.spaces[id.space], id.name)
	}
	c.serial++
	p.id, p.serial, p.node, p.previous = id, c.serial, at, -1
	i := int32(len(c.pods))
	if last := len(c.free) - 1; last >= 0 {
		i, c.free = c.free[last], c.free[:last]
	} else {
		c.pods = append(c.pods, pod{})
	}
	c.podByID[id] = i
	n := &c.nodes[at]
	p.next = n.firstPod
	if p.next >= 0 {
		c.pods[p.next].previous = i
	}
	n.firstPod = i
	c.pods[i] = p
	c.works(i, 1)
	c.appears(&c.pods[i])
	c.podChanged(i)
	return nil
}

// removePod removes the pod from the cluster.
func (c *cluster) removePod(i int32) {
	p := &c.pods[i]
	c.isGone(i)
	c.changesJob(i)
	c.enter(i, p.booked, account{})
	c.works(i, -1)
	c.nodes[p.node].gone++
	if p.previous >= 0 {
		c.pods[p.previous].next = p.next
	} else {
		c.nodes[p.node].firstPod = p.next
	}
	if p.next >= 0 {
		c.pods[p.next].previous = p.previous
	}
	if n := &c.nodes[p.node]; n.Deleted && n.firstPod < 0 {
		delete(c.orphans, n.Name)
	}
	if p.terminating {
		c.tellGone(p)
	}
	key := c.keyOf(p)
	delete(c.podByID, p.id)
	c.free = append(c.free, i)
	*p = pod{node: -1}
	c.world.podChanged(key)
}

// takeAway removes the object of a pod at once, whatever its kubelet knows.
func (c *cluster) takeAway(i int32) {
	if p := &c.pods[i]; c.runsOn(p) && !p.phase.finished() && !p.spec.ofDaemonSet() {
		c.stats.RemovedWhileRunning++
	}
	c.leavesNow(i)
	c.deletionBegins(i)
	c.removePod(i)
}

// deletePod deletes a pod. One that has finished is gone at once, wherever it is. On a live node another one is, or after its grace
// period; on a failed one it stays terminating.
func (c *cluster) deletePod(i int32) {
	p := &c.pods[i]
	c.leavesNow(i)
	c.deletionBegins(i)
	lives := !c.nodes[p.node].failed && !c.kubelets.down
	if p.phase.finished() || lives && p.spec.Grace == 0 {
		c.removePod(i)
		return
	}
	if !p.terminating {
		p.terminating, p.deleted, p.until, p.marked = true, uint32(c.now()/int64(time.Second)), 0, false
		if lives {
			c.takesTime(i, p.spec.endsAfter())
		}
		c.podChanged(i)
	}
}
