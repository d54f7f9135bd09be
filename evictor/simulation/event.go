package simulation

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Event is something that happens to nodes, pods or the API: in a Scenario at the time At, in World.Do at once,
// whatever At says. Exactly one of the other fields is set.
type Event struct {
	At time.Duration `yaml:"at"` // since time 0; within Repeat since the start of the round

	// Fail stops kubelets: they do not renew their leases or report status, their pods do not run, and pods that are deleted
	// stay terminating. It does nothing to nodes that have failed already.
	Fail *Nodes `yaml:"fail,omitempty"`
	// Recover ends Fail and Partition: kubelets renew their leases and report Ready at once (but see Scenario.NotReadyFor),
	// and finish the pods that were deleted meanwhile.
	Recover *Nodes `yaml:"recover,omitempty"`
	// Partition cuts kubelets off from the API and nothing else: their pods keep running.
	Partition *Partition `yaml:"partition,omitempty"`
	// LoseLeases makes the watch that feeds controllers lose lease renewals, or show them later. The kubelets renew all the
	// same, and whoever reads a lease itself sees it. ShowLeases ends it, from the nodes' next renewals on.
	LoseLeases *LoseLeases `yaml:"loseLeases,omitempty"`
	ShowLeases *Nodes      `yaml:"showLeases,omitempty"`
	// Condition makes live kubelets report a condition from now on. On a silent node someone else writes it, unless it is one
	// that healthy kubelets report.
	Condition *Condition `yaml:"condition,omitempty"`

	// Taint adds a taint, or replaces the one with the same key and effect. Its TimeAdded is now. Untaint removes the taint
	// with that key and effect from the nodes that have it.
	Taint   *Taint   `yaml:"taint,omitempty"`
	Untaint *Untaint `yaml:"untaint,omitempty"`
	// OutOfService adds the taint node.kubernetes.io/out-of-service, NoExecute.
	OutOfService *Nodes `yaml:"outOfService,omitempty"`
	// Cordon makes nodes unschedulable. Uncordon makes them schedulable again and stops a Drain in progress, but not a Roll,
	// which cordons the node that it drains again.
	Cordon   *Nodes `yaml:"cordon,omitempty"`
	Uncordon *Nodes `yaml:"uncordon,omitempty"`
	// Drain cordons nodes and evicts their pods as kubectl drain --ignore-daemonsets does, of which each node has one
	// of its own: through the eviction API, with a retry every 5 seconds for pods that a disruption budget protects,
	// until its timeout.
	Drain *Drain `yaml:"drain,omitempty"`

	// DeleteNode deletes nodes, whose machines are gone. Their pods stay bound to their names until the pod garbage
	// collector takes them, 40 to 60 seconds later. ReplaceNode does the same, and new nodes register under the same
	// names. Roll drains and replaces nodes, one after the other.
	DeleteNode  *Nodes       `yaml:"deleteNode,omitempty"`
	ReplaceNode *ReplaceNode `yaml:"replaceNode,omitempty"`
	Roll        *Roll        `yaml:"roll,omitempty"`
	AddNode     *AddNode     `yaml:"addNode,omitempty"`

	AddPod *AddPod `yaml:"addPod,omitempty"`
	// DeletePod deletes a pod: on a live node it goes at once, on a silent node it stays terminating. If the pod has been
	// evicted meanwhile, nothing happens. ForceDelete removes its object at once, without waiting for its kubelet.
	DeletePod   *Pod `yaml:"deletePod,omitempty"`
	ForceDelete *Pod `yaml:"forceDelete,omitempty"`

	API *API `yaml:"api,omitempty"`
	// Restart replaces all controllers with new ones; the old ones are not called again. It does not work in World.Do.
	Restart *Restart `yaml:"restart,omitempty"`
	// Repeat plays a group of events repeatedly, from At on.
	Repeat *Repeat `yaml:"repeat,omitempty"`
}

// Partition selects the nodes that are cut off.
type Partition struct {
	Nodes `yaml:",inline"`

	// Clients is the share of the clients that still reach the nodes' pods, from 0 to 1; nil means all.
	Clients *float64 `yaml:"clients,omitempty"`
}

// reach returns Clients, or 1 if it is nil.
func (p *Partition) reach() float64 {
	if p.Clients == nil {
		return 1
	}
	return *p.Clients
}

// LoseLeases selects the nodes whose renewals are lost.
type LoseLeases struct {
	Nodes `yaml:",inline"`

	ShowAfter time.Duration `yaml:"showAfter,omitempty"` // if positive, each is shown that much later; 0 means never
}

// Condition selects nodes and says what they report.
type Condition struct {
	Nodes `yaml:",inline"`

	Type   v1.NodeConditionType `yaml:"type"`
	Status v1.ConditionStatus   `yaml:"status"`
}

// Taint selects nodes and says which taint they get.
type Taint struct {
	Nodes     `yaml:",inline"`
	NodeTaint `yaml:",inline"`
}

// Untaint selects nodes and says which taint they lose.
type Untaint struct {
	Nodes `yaml:",inline"`

	Key    string         `yaml:"key"`
	Effect v1.TaintEffect `yaml:"effect"`
}

// ReplaceNode selects the nodes that are replaced. The new ones have the same names, labels, resources and DaemonSet
// pods, and the taints that the old nodes had at first. They run the pods that are still bound to their names.
type ReplaceNode struct {
	Nodes `yaml:",inline"`

	After time.Duration `yaml:"after,omitempty"` // from the deletion to the first report of the new node
}

// Drain selects nodes, and says what happens if a disruption budget keeps their pods.
type Drain struct {
	Nodes `yaml:",inline"`

	// Timeout is how long the drain of a node may take. 0 means no limit, which is also the default of kubectl drain,
	// Karpenter and Cluster API: the drain tries until the node is empty, and Report.StuckDrains has those that never are.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// Then is what happens afterwards. With giveUp, or an empty text, the drain ends: the node stays cordoned and keeps the pods, and a
	// roll stops there. So do kubectl drain --timeout and managed node groups without force. With force, which needs a Timeout, the
	// pods are deleted and no budget is asked, as with Karpenter's terminationGracePeriod, Cluster API's nodeDrainTimeout and managed
	// node groups with force.
	Then string `yaml:"then,omitempty"`
	// Bare and EmptyDir are about pods that have not finished. With refuse, or an empty text, nothing is evicted from a node that has
	// such a pod. So does kubectl drain without --force, or without --delete-emptydir-data. The other value is evict.
	Bare     string `yaml:"bare,omitempty"`
	EmptyDir string `yaml:"emptyDir,omitempty"`
	// Wait is whether the drain goes on until the pods that it has evicted are gone; nil means true. On a silent node
	// they go when its kubelet is back or somebody removes their objects. With force it waits no longer.
	Wait *bool `yaml:"wait,omitempty"`
}

// Roll selects nodes. One after the other, each is drained and, once empty, replaced as by ReplaceNode. Unless Then is
// force, it stops at a node whose drain is given up. Its drains evict every pod but those of DaemonSets and mirror
// pods, whatever the API answers they try again, and they do not wait for the kubelet of a silent node, as Cluster API,
// Karpenter and node groups do.
type Roll struct {
	Nodes `yaml:",inline"`

	After   time.Duration `yaml:"after,omitempty"`   // from the deletion of a node to the first report of the new one
	Wait    time.Duration `yaml:"wait,omitempty"`    // from then to the drain of the next node
	Timeout time.Duration `yaml:"timeout,omitempty"` // of the drain of each node, as in Drain
	Then    string        `yaml:"then,omitempty"`    // as in Drain
}

// AddNode adds a node that is Ready at once, but see Scenario.NotReadyFor. Like any node that registers after time 0 it has the taint
// not-ready:NoSchedule, so that it takes pods when an evictor has removed that. Its pods are <name>-p0, … and <name>-ds0, …, as
// in a Zone.
type AddNode struct {
	// Node, if not nil, replaces the other fields. Its name, labels, taints, spec.unschedulable and allocatable resources
	// (the capacity if there are none) count.
	Node *v1.Node `yaml:"-"`

	Name                 string `yaml:"name"`
	Zone                 string `yaml:"zone,omitempty"` // the label's value; empty means no label
	Region               string `yaml:"region,omitempty"`
	PodsPerNode          int    `yaml:"podsPerNode,omitempty"`
	DaemonSetPodsPerNode int    `yaml:"daemonSetPodsPerNode,omitempty"`
	NodeFields           `yaml:",inline"`
	Pod                  PodFields          `yaml:"pod,omitempty"`               // as in a Zone
	TolerationSeconds    *TolerationSeconds `yaml:"tolerationSeconds,omitempty"` // as in a Zone
}

// AddPod adds a pod in namespace default, without an owner unless one is given. It is Ready at once; if the node's kubelet
// does not reach the API, it is Pending until the kubelet does.
type AddPod struct {
	Name              string             `yaml:"name"`
	Node              string             `yaml:"node"`
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds,omitempty"` // as in a Zone
	PodFields         `yaml:",inline"`
}

// Pod names a pod: a name in namespace default, or namespace/name.
type Pod struct {
	Name string `yaml:"name"`
}

// API makes the calls of controllers and kubelets fail (APIDown) or slow (APISlow), or only the controllers' writes fail
// (APIFailing), until APIUp. Reads from a store do not call the API.
type API struct {
	State string `yaml:"state"`
	// Latency is how long a call takes before it takes effect, while the API is slow. A kubelet cannot renew its lease if
	// that is as long as the interval between renewals.
	Latency time.Duration `yaml:"latency,omitempty"`
	// Answer is what controllers' writes are answered while they fail, such as AnswerForbidden. Kubelets are not concerned.
	Answer string `yaml:"answer,omitempty"`
	// For says whose calls are meant: ForEvictor, ForKubelets, or all, as does an empty text.
	For string `yaml:"for,omitempty"`
}

// States of API.
const (
	APIDown    = "down"
	APISlow    = "slow"
	APIFailing = "failing"
	APIUp      = "up"
)

// Values of API.For. ForEvictor means all controllers.
const (
	ForEvictor  = "evictor"
	ForKubelets = "kubelets"
	forAll      = "all"
)

// Restart restarts the controllers' process.
type Restart struct{}

// Repeat is a group of events. Their times count from the start of each round.
type Repeat struct {
	Every  time.Duration `yaml:"every"`           // from the start of one round to the next
	Times  int           `yaml:"times,omitempty"` // rounds; 0 means as many as begin before the end
	Events []Event       `yaml:"events"`
}

// Actions returns the names of the actions that are set, as in a scenario file; a valid event has one.
func (e *Event) Actions() (names []string) {
	e.each(func(name string, _ reflect.Value) { names = append(names, name) })
	return names
}

// each calls visit for each action that is set.
func (e *Event) each(visit func(name string, action reflect.Value)) {
	of := reflect.ValueOf(e).Elem()
	for i := range of.NumField() {
		if field := of.Field(i); field.Kind() == reflect.Pointer && !field.IsNil() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("yaml"), ",")
			visit(name, field)
		}
	}
}

// deletes returns the pod that the event deletes, nil if it deletes none.
func (e *Event) deletes() *Pod { return cmp.Or(e.DeletePod, e.ForceDelete) }
