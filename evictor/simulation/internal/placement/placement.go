// Package placement says to which nodes kube-scheduler's filters let a pod go, and which of these scores best: the least loaded one.
// It knows nodes and pods by small records, and counts what its cluster tells it.
package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// NodeInfo is what filters see of a node, as the API shows it.
type NodeInfo struct {
	Name          string
	Labels        map[string]string  // shared and never changed in place
	Taints        []v1.Taint         // replaced, not changed in place
	Conditions    []v1.NodeCondition // shared until they differ
	Unschedulable bool
	Deleted       bool
	Pods          int32 // that load it: neither terminating nor of a DaemonSet
	Room          *Room // nil if not known, so that everything fits

	ports []hostPort // that its pods take
}

// IsReady says whether the node's condition Ready is true.
func (n *NodeInfo) IsReady() bool {
	ready := FindCondition(n.Conditions, v1.NodeReady)
	return ready >= 0 && n.Conditions[ready].Status == v1.ConditionTrue
}

// Standing returns the taints of a node that is cordoned or not Ready, whether or not they have been written yet. A
// node that has never reported has the taint of a new node.
func (n *NodeInfo) Standing() []v1.Taint {
	if n.IsReady() && !n.Unschedulable {
		return nil
	}
	standing := taints.ForConditions(n.Conditions, n.Unschedulable)
	if FindCondition(n.Conditions, v1.NodeReady) < 0 {
		standing = append(standing, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule})
	}
	return standing
}

// FindCondition returns where the condition of that kind is; -1 if there is none.
func FindCondition(conditions []v1.NodeCondition, kind v1.NodeConditionType) int {
	for i := range conditions {
		if conditions[i].Type == kind {
			return i
		}
	}
	return -1
}

// Spec is what filters see of a pod. Many pods share it.
type Spec struct {
	Tolerations []v1.Toleration
	Needs       *Needs
	Labels      *Labels

	tolerationsKey string // equal for equal tolerations
}

// SpecKey is equal for equal specs.
type SpecKey struct {
	tolerations string
	needs       *Needs
	labels      *Labels
}

// Key identifies the spec among equal ones.
func (s *Spec) Key() SpecKey {
	s.tolerationsKey = keyOfTolerations(s.Tolerations)
	return SpecKey{s.tolerationsKey, s.Needs, s.Labels}
}

// Pod is a pod on a node.
type Pod struct {
	*Spec
	Namespace string
	Node      int32 // its number
	Takes     bool  // room, ports and claims of its node
	Spreads   bool  // among the pods that topology spread counts
}

// Pods are those of a cluster.
type Pods interface {
	// EachPod visits all pods on nodes, and those of one node.
	EachPod(visit func(Pod))
	EachPodOn(node int32, visit func(Pod))
}

// Filters are the filters of one cluster, with what they count.
type Filters struct {
	of    Pods
	nodes []*NodeInfo // by number
	index *index      // nil until somebody asks where pods may go

	resources map[v1.ResourceName]int // numbers of extended resources
	needs     map[string]*Needs
	labelSets map[string]*Labels
	tallies   []*tally
	tallied   bool       // whether the tallies and what is spread are up to date
	spreading *spreading // nil if no pod has to be spread

	volumes     map[string]*v1.PersistentVolume
	claims      map[claimID]claim
	volumeRules map[string]*volumeRule
	withVolume  map[volumeNeeds]*Needs
	used        map[claimID]int // pods by claim, of those that only one pod may use
	usedVersion int
}

// New returns the filters of a cluster without nodes.
func New(of Pods) *Filters {
	return &Filters{
		of:          of,
		resources:   make(map[v1.ResourceName]int),
		needs:       make(map[string]*Needs),
		labelSets:   make(map[string]*Labels),
		volumes:     make(map[string]*v1.PersistentVolume),
		claims:      make(map[claimID]claim),
		volumeRules: make(map[string]*volumeRule),
		withVolume:  make(map[volumeNeeds]*Needs),
		used:        make(map[claimID]int),
	}
}

// changed notes that some pod may land where it could not before, or the other way round.
func (f *Filters) changed() {
	if f.index != nil {
		f.index.version++
	}
}
