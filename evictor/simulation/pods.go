package simulation

import (
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
)

// spec returns the shared form of a pod's spec.
func (c *cluster) spec(s podSpec) *podSpec {
	key := specKey{keyOfTolerations(s.Tolerations), s.OwnerKind, s.OwnerName, s.Mirror, s.needs, s.labels}
	if shared, ok := c.specs[key]; ok {
		return shared
	}
	shared := &s
	shared.tolerationsKey = key.tolerations
	c.specs[key] = shared
	return shared
}

// specKey identifies equal specs.
type specKey struct {
	tolerations, ownerKind, ownerName string
	mirror                            bool
	needs                             *needs
	labels                            *labelSet
}

func keyOfTolerations(tolerations []v1.Toleration) string {
	key := ""
	for i := range tolerations {
		t := &tolerations[i]
		seconds := "-"
		if t.TolerationSeconds != nil {
			seconds = strconv.FormatInt(*t.TolerationSeconds, 10)
		}
		key += "|" + t.Key + "\x00" + string(t.Operator) + "\x00" + t.Value + "\x00" + string(t.Effect) + "\x00" + seconds
	}
	return key
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
	c.noteIgnored(&object.Spec)
	c.awaitClaims(object)
	_, mirrors := object.Annotations[v1.MirrorPodAnnotationKey]
	s := podSpec{Tolerations: object.Spec.Tolerations, Mirror: mirrors, needs: c.needsOf(object), labels: c.labelsOf(&object.ObjectMeta)}
	if owner := metav1.GetControllerOf(object); owner != nil {
		s.OwnerKind, s.OwnerName = owner.Kind, owner.Name
	}
	p := pod{
		spec: c.spec(s), phase: phaseOf(object.Status.Phase), terminating: object.DeletionTimestamp != nil, bound: c.now(),
		object: &podTimes{uid: object.UID, created: object.CreationTimestamp},
	}
	kind, name := ControllerOf(&object.ObjectMeta)
	p.member = c.member(object.Namespace, kind, name, s.labels)
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

// newPod is the record of a pod that is bound to a node now. It runs and is Ready at once, unless the kubelet does not
// reach the API: then the kubelet starts it once it does.
func (c *cluster) newPod(spec *podSpec, member int32, on *node) pod {
	p := pod{spec: spec, ready: true, bound: c.now(), member: member}
	if on.failed || c.kubelets.down {
		p.ready, p.unstarted, p.phase = false, true, pending
	}
	return p
}

// starts makes the kubelet start such a pod.
func (c *cluster) starts(i int32) {
	p := &c.pods[i]
	c.counted(p, -1)
	p.unstarted, p.phase = false, running
	c.counted(p, 1)
	c.setReady(i, true)
}

func (c *cluster) addPod(id podID, p pod, nodeName string) error {
	at, ok := c.nodeByID[nodeName]
	if !ok {
		return fmt.Errorf("pod %s: node %s does not exist", id.name, nodeName)
	}
	if _, known := c.podByID[id]; known {
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
	if p.terminating {
		c.stats.terminates(1)
	}
	c.healthy(&c.pods[i], 1)
	c.counted(&c.pods[i], 1)
	c.occupies(i, 1)
	c.works(i, 1)
	c.appears(&c.pods[i])
	c.goesOn(&c.pods[i])
	c.podChanged(id)
	return nil
}

// occupies counts a pod's requests on its node while it has not finished, even while it terminates, when it is added
// (+1) or removed (-1).
func (c *cluster) occupies(i int32, by int64) {
	p := &c.pods[i]
	if p.phase.finished() {
		return
	}
	c.uses(p, int(by))
	if c.tallied && len(c.tallies) > 0 {
		c.tell(p, c.spaces[p.id.space], int(by))
	}
	if c.load != nil {
		c.load.version++
	}
	n := &c.nodes[p.node]
	if by < 0 && c.load != nil && p.spec.takesPorts() {
		c.load.better(p.node)
	}
	if n.room == nil {
		return
	}
	n.room.take(p.spec.needs, by)
	if c.load != nil {
		c.load.update(c, p.node)
		if by < 0 {
			c.load.better(p.node)
		}
	}
}

// counted updates a node's load and the number of pods without a live node when the pod starts (+1) or stops (-1)
// counting.
func (c *cluster) counted(p *pod, by int32) {
	if c.spreading != nil && c.tallied {
		c.spreading.tell(c, p, int(by), nil)
	}
	if p.terminating || p.spec.OwnerKind == "DaemonSet" {
		return
	}
	n := &c.nodes[p.node]
	n.pods += by
	if p.phase.finished() {
		n.finished += by
	}
	if c.load != nil {
		c.load.update(c, p.node)
	}
	if p.phase.finished() {
		return
	}
	if p.unstarted {
		n.unstarted += by
		c.stats.lacks(c.now(), int(by)*whole)
		return
	}
	if n.failed {
		c.stats.lacks(c.now(), int(by)*n.lacks())
	}
	if n.serves() {
		c.leveled(p.member, 0, int(by))
	}
}

// removePod removes the pod from the cluster.
func (c *cluster) removePod(i int32) {
	p := &c.pods[i]
	c.isGone(i)
	c.unmark(i)
	c.healthy(p, -1)
	c.counted(p, -1)
	c.occupies(i, -1)
	c.works(i, -1)
	if p.previous >= 0 {
		c.pods[p.previous].next = p.next
	} else {
		c.nodes[p.node].firstPod = p.next
	}
	if p.next >= 0 {
		c.pods[p.next].previous = p.previous
	}
	if p.terminating {
		c.stats.terminates(-1)
		c.tellGone(p)
	}
	id := p.id
	delete(c.podByID, id)
	c.free = append(c.free, i)
	*p = pod{node: -1}
	c.podChanged(id)
}

// takeAway removes the object of a pod at once, whatever its kubelet knows.
func (c *cluster) takeAway(i int32) {
	if p := &c.pods[i]; c.runsOn(p) && !p.phase.finished() {
		c.stats.forgotten++
	}
	c.leavesNow(i)
	c.deletionBegins(i)
	c.removePod(i)
}

// deletePod deletes a pod. On a live node it is gone at once, on a failed one it stays terminating.
func (c *cluster) deletePod(i int32) {
	p := &c.pods[i]
	c.leavesNow(i)
	c.deletionBegins(i)
	if !c.nodes[p.node].failed && !c.kubelets.down {
		c.removePod(i)
		return
	}
	if !p.terminating {
		c.unmark(i)
		c.healthy(p, -1)
		c.counted(p, -1)
		c.stats.terminates(1)
		p.terminating, p.deleted = true, uint32(c.now()/int64(time.Second))
		c.podChanged(c.pods[i].id)
	}
}

// DeleteNode removes a node and its pods.
func (c *cluster) DeleteNode(n *node) {
	name, i := n.name, c.nodeByID[n.name]
	if c.outside.PodGC {
		c.Fail(n) // its pods stay until that comes
	}
	c.tellHappening(name, "the node is deleted with its pods")
	n.deleted = true
	for n.firstPod >= 0 && !c.outside.PodGC {
		c.takeAway(n.firstPod)
	}
	c.moves(n, -1)
	delete(c.emptied, i)
	delete(c.outOfService, i)
	n.epoch++
	if c.load != nil {
		c.load.update(c, i)
	}
	if c.spreading != nil && c.tallied {
		c.spreading.look(c, i)
	}
	delete(c.nodeByID, name)
	c.world.nodeChanged(name)
}
