package simulation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
)

// Reasons for leaving pods out, as in Report.NotSimulated. A pod WithoutNode is left out if no pod comes back, or if somebody else
// says when it gets a node, or which one: a gate, another scheduler, a resource claim, a DaemonSet.
const (
	OnMissingNodes = "pods on nodes that do not exist"
	WithoutNode    = "pods without a node"
)

var (
	errNil    = errors.New("is nil")
	errNoName = errors.New("metadata.name is missing")
)

// filler puts objects into a cluster.
type filler struct {
	cluster   *cluster
	unbound   bool               // pods without a node wait for one
	seconds   *TolerationSeconds // see Scenario.DefaultTolerationSeconds
	early     []*v1.Pod          // pods that came before their node
	workloads []workloadObject
	making    bool // the pods that workloads lack

	owned map[workloadKey]int // pods that are neither deleted nor completed
}

// fill puts the scenario's objects into the cluster.
func (s *Scenario) fill(c *cluster) error {
	f := filler{cluster: c, unbound: s.ReplaceAfter >= 0, seconds: s.DefaultTolerationSeconds, owned: make(map[workloadKey]int)}
	c.Reserve(len(s.Nodes), len(s.Pods))
	if err := cmp.Or(
		addAll(&f, "nodes", s.Nodes, false), addAll(&f, "objects", s.Objects, false),
		addAll(&f, "pods", s.Pods, true), addAll(&f, "objects", s.Objects, true),
	); err != nil {
		return err
	}
	if s.Read != nil {
		if err := s.Read(f.add); err != nil {
			return err
		}
	}
	return f.finish()
}

// addAll adds the pods of a list, or all else.
func addAll[T runtime.Object](f *filler, list string, all []T, pods bool) error {
	for i, object := range all {
		if _, is := any(object).(*v1.Pod); is != pods {
			continue
		}
		if err := f.add(object); err != nil {
			return fmt.Errorf("%s[%d]: %w", list, i, err)
		}
	}
	return nil
}

// add puts an object into the cluster.
func (f *filler) add(object runtime.Object) error {
	if object == nil || reflect.ValueOf(object).IsNil() {
		return errNil
	}
	switch o := object.(type) {
	case *v1.Node:
		if err := checkNodeObject(o); err != nil {
			return err
		}
		return f.cluster.AddNodeObject(o)
	case *v1.Pod:
		return f.pod(o)
	case *v1.PersistentVolume:
		return f.cluster.filters.AddVolume(o)
	case *v1.PersistentVolumeClaim:
		if o.Namespace == "" {
			o = o.DeepCopy()
			o.Namespace = v1.NamespaceDefault
		}
		return f.cluster.filters.AddClaim(o)
	}
	if reflect.TypeOf(object).Elem().Name() == "PodDisruptionBudget" {
		return f.budget(object)
	}
	w, err := workloadOf(object)
	if err == nil {
		_, err = w.wanted()
	}
	if err == nil && w.job != nil && !f.cluster.outside.Workloads {
		err = f.cluster.AddJob(inDefault(w.meta.Namespace), w.meta.Name, jobOf(w.job))
	}
	if err == nil && w.set != nil {
		f.cluster.knowSet(w.set)
	}
	f.workloads = append(f.workloads, w)
	return err
}

// budget adds a PodDisruptionBudget of any version of its API.
func (f *filler) budget(object runtime.Object) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var b struct {
		Metadata metav1.ObjectMeta
		Spec     budgetSpec
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	if b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil {
		return errors.New("spec: minAvailable and maxUnavailable cannot both be set")
	}
	return f.cluster.AddBudget(inDefault(b.Metadata.Namespace), b.Metadata.Name, b.Spec)
}

func (f *filler) pod(pod *v1.Pod) error {
	switch {
	case pod.Name == "":
		return errNoName
	case pod.Namespace == "":
		copied := *pod
		copied.Namespace = v1.NamespaceDefault
		pod = &copied
	}
	if err := checkPodObject(pod); err != nil {
		return err
	}
	if f.seconds != nil {
		pod = f.seconds.readmitted(pod)
	}
	f.note(pod)
	if pod.Spec.NodeName == "" {
		if !f.unbound || !f.making && !schedulable(pod) {
			f.cluster.ignore(WithoutNode)
			return nil
		}
		return f.cluster.AddUnboundObject(pod, f.making)
	}
	if len(f.early) > 0 { // pods keep their order
		f.early = append(f.early, pod)
		return nil
	}
	bound, err := f.cluster.AddPodObject(pod)
	if err == nil && !bound {
		f.early = append(f.early, pod)
	}
	return err
}

// finish adds the pods that came before their nodes, and those that workloads lack.
func (f *filler) finish() error {
	for _, pod := range f.early {
		bound, err := f.cluster.AddPodObject(pod)
		if err != nil {
			return err
		}
		if !bound {
			f.cluster.ignore(OnMissingNodes)
		}
	}
	f.cluster.keepAges()
	f.early, f.making = nil, true
	if f.cluster.outside.Workloads {
		return nil
	}
	for i := range f.workloads {
		if err := f.complete(&f.workloads[i]); err != nil {
			return err
		}
	}
	return nil
}

// complete makes the pods that a workload lacks.
func (f *filler) complete(w *workloadObject) error {
	wanted, _ := w.wanted() // it cannot fail: add has asked
	if w.set != nil {
		return f.completeSet(w, wanted)
	}
	owner := workloadKey{inDefault(w.meta.Namespace), w.kind, w.meta.Name}
	for i := 0; f.owned[owner] < wanted; i++ {
		pod := w.pod(i)
		if f.cluster.holds(pod.Namespace, pod.Name) {
			continue
		}
		if err := f.pod(pod); err != nil {
			return err
		}
	}
	return nil
}

// completeSet makes the pods that a StatefulSet lacks, by their ordinals. One that is deleted already comes back by itself. One
// that has ended gives way.
func (f *filler) completeSet(w *workloadObject, wanted int) error {
	c, first := f.cluster, firstOrdinal(w.set)
	for i := first; i < first+wanted; i++ {
		pod := w.pod(i)
		key := evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name}
		if at, bound := c.findPod(key); bound && f.unbound && c.pods[at].phase.finished() {
			c.takeAway(at)
		} else if bound || c.unboundKeys[key] {
			continue
		}
		if err := f.pod(pod); err != nil {
			return err
		}
	}
	return nil
}

// note counts a pod for its workload.
func (f *filler) note(pod *v1.Pod) {
	if pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
		kind, name := ControllerOf(&pod.ObjectMeta)
		f.owned[workloadKey{pod.Namespace, kind, name}]++
	}
}

// budgetSpec is the part of a PodDisruptionBudget's spec that counts. It is a type of our own, because the policy/v1 API is
// younger than the oldest Kubernetes that this package is built with.
type budgetSpec struct {
	MinAvailable, MaxUnavailable *intstr.IntOrString
	Selector                     *metav1.LabelSelector
	// UnhealthyPodEvictionPolicy is nil, IfHealthyBudget or AlwaysAllow.
	UnhealthyPodEvictionPolicy *string
}

// bindClaims tells pods where their volumes are, once all objects are known.
func (c *cluster) bindClaims() {
	unbound := make(map[evictor.PodKey]*comeback)
	for i := range c.unbound {
		unbound[c.unbound[i].key] = &c.unbound[i]
	}
	for i := range c.claimants {
		of := &c.claimants[i]
		spec := (*podSpec)(nil)
		at, known := c.findPod(of.pod)
		waits := unbound[of.pod]
		switch {
		case known:
			spec = c.pods[at].spec
		case waits != nil:
			spec = waits.spec
		default:
			continue
		}
		needs, all := c.filters.WithVolumes(spec.Needs, of.pod.Namespace, of.claims)
		if !all || of.ephemeral {
			c.ignore(unboundClaims)
		}
		bound := *spec
		bound.Needs = needs
		if known {
			c.rebook(at, takes, func(p *pod) { p.spec = c.spec(bound) })
		} else {
			waits.spec = c.spec(bound)
		}
	}
	c.claimants = nil
}
