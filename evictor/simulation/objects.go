package simulation

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/simulator"
)

// Reasons for leaving pods out.
const (
	onMissingNodes = "pods on nodes that do not exist"
	withoutNode    = "pods without a node"
)

var (
	errNil    = errors.New("is nil")
	errNoName = errors.New("metadata.name is missing")
)

// filler puts a scenario's objects into a cluster.
type filler struct {
	scenario *Scenario
	cluster  *simulator.Cluster
	left     map[string]int // pods left out, by reason

	taken map[evictor.PodKey]bool
	owned map[owner]int // pods that are neither deleted nor completed
}

// owner is a controller of pods.
type owner struct{ namespace, kind, name string }

// fill puts the scenario's objects into the cluster. It returns the number of pods left out, by reason.
func (s *Scenario) fill(c *simulator.Cluster) (left map[string]int, err error) {
	f := filler{s, c, make(map[string]int), make(map[evictor.PodKey]bool), make(map[owner]int)}
	c.Reserve(len(s.Nodes), len(s.Pods))
	for i, node := range s.Nodes {
		if err := f.node(node); err != nil {
			return nil, fmt.Errorf("nodes[%d]: %w", i, err)
		}
	}
	for i, b := range s.Budgets {
		if err := f.budget(b); err != nil {
			return nil, fmt.Errorf("budgets[%d]: %w", i, err)
		}
	}
	for i, volume := range s.PersistentVolumes {
		if err := f.volume(volume); err != nil {
			return nil, fmt.Errorf("persistentVolumes[%d]: %w", i, err)
		}
	}
	for i, claim := range s.PersistentVolumeClaims {
		if err := f.claim(claim); err != nil {
			return nil, fmt.Errorf("persistentVolumeClaims[%d]: %w", i, err)
		}
	}
	for i, pod := range s.Pods {
		if err := f.pod(pod); err != nil {
			return nil, fmt.Errorf("pods[%d]: %w", i, err)
		}
	}
	for i, object := range s.Workloads {
		if err := f.workload(object); err != nil {
			return nil, fmt.Errorf("workloads[%d]: %w", i, err)
		}
	}
	return f.left, nil
}

func (f *filler) node(node *v1.Node) error {
	if node == nil {
		return errNil
	}
	return f.cluster.AddNodeObject(node)
}

func (f *filler) budget(b *policyv1.PodDisruptionBudget) error {
	switch {
	case b == nil:
		return errNil
	case b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil:
		return errors.New("spec: minAvailable and maxUnavailable cannot both be set")
	}
	spec := simulator.BudgetSpec{MinAvailable: b.Spec.MinAvailable, MaxUnavailable: b.Spec.MaxUnavailable, Selector: b.Spec.Selector}
	if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil {
		text := string(*policy)
		spec.UnhealthyPodEvictionPolicy = &text
	}
	return f.cluster.AddBudget(inDefault(b.Namespace), b.Name, spec)
}

func (f *filler) volume(volume *v1.PersistentVolume) error {
	if volume == nil {
		return errNil
	}
	return f.cluster.AddVolumeObject(volume)
}

func (f *filler) claim(claim *v1.PersistentVolumeClaim) error {
	switch {
	case claim == nil:
		return errNil
	case claim.Namespace == "":
		claim = claim.DeepCopy()
		claim.Namespace = v1.NamespaceDefault
	}
	return f.cluster.AddClaimObject(claim)
}

func (f *filler) pod(pod *v1.Pod) error {
	switch {
	case pod == nil:
		return errNil
	case pod.Name == "":
		return errNoName
	case pod.Namespace == "":
		copied := *pod
		copied.Namespace = v1.NamespaceDefault
		pod = &copied
	}
	if len(f.scenario.Workloads) > 0 {
		f.note(pod)
	}
	switch {
	case pod.Spec.NodeName != "":
		bound, err := f.cluster.AddPodObject(pod)
		if err == nil && !bound {
			f.left[onMissingNodes]++
		}
		return err
	case f.scenario.ReplaceAfter < 0:
		f.left[withoutNode]++
		return nil
	default:
		return f.cluster.AddUnboundObject(pod)
	}
}

// workload makes the pods that a workload lacks.
func (f *filler) workload(object runtime.Object) error {
	w, err := workloadOf(object)
	if err != nil {
		return err
	}
	wanted, err := w.wanted()
	if err != nil {
		return err
	}
	if w.job != nil {
		if err := f.cluster.AddJob(inDefault(w.meta.Namespace), w.meta.Name, jobOf(w.job)); err != nil {
			return err
		}
	}
	owner := owner{inDefault(w.meta.Namespace), w.kind, w.meta.Name}
	for i := 0; f.owned[owner] < wanted; i++ {
		pod := w.pod(i)
		if f.taken[evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name}] {
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
	f.taken[evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name}] = true
	if pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
		kind, name := simulator.ControllerOf(&pod.ObjectMeta)
		f.owned[owner{pod.Namespace, kind, name}]++
	}
}

func inDefault(namespace string) string {
	if namespace == "" {
		return v1.NamespaceDefault
	}
	return namespace
}
