package scenario

import "time"

// Event is one thing that happens: At, and exactly one action.
type Event struct {
	At        *Duration  `yaml:"at"` // required
	Fail      *Selector  `yaml:"fail"`
	Recover   *Selector  `yaml:"recover"` // ends Fail and Partition
	Partition *Partition `yaml:"partition"`
	Condition *Condition `yaml:"condition"`
	Taint     *Taint     `yaml:"taint"`
	Untaint   *Untaint   `yaml:"untaint"`
	Cordon    *Selector  `yaml:"cordon"`
	Uncordon  *Selector  `yaml:"uncordon"`
	// Drain cordons nodes and evicts their pods through the eviction API, until they are empty or uncordoned.
	Drain *Selector `yaml:"drain"`
	// OutOfService adds the taint node.kubernetes.io/out-of-service, NoExecute.
	OutOfService *Selector `yaml:"outOfService"`
	// LoseLeases makes the controllers' watch lose the lease renewals of nodes whose kubelets renew, or show them later;
	// ShowLeases ends that.
	LoseLeases  *LoseLeases  `yaml:"loseLeases"`
	ShowLeases  *Selector    `yaml:"showLeases"`
	DeleteNode  *Selector    `yaml:"deleteNode"`
	ReplaceNode *ReplaceNode `yaml:"replaceNode"`
	// Roll drains and replaces nodes, one after the other.
	Roll      *Roll      `yaml:"roll"`
	AddNode   *AddNode   `yaml:"addNode"`
	AddPod    *AddPod    `yaml:"addPod"`
	DeletePod *DeletePod `yaml:"deletePod"`
	// ForceDelete removes a pod's object at once, even on a silent node.
	ForceDelete *DeletePod `yaml:"forceDelete"`
	API         *API       `yaml:"api"`
	Restart     *Restart   `yaml:"restart"`
	// Repeat plays a group of events repeatedly, from At on.
	Repeat *Repeat `yaml:"repeat"`
}

// Actions returns the names of the event's actions; a valid event has one.
func (e *Event) Actions() []string {
	var names []string
	for _, action := range []struct {
		name string
		has  bool
	}{
		{"fail", e.Fail != nil},
		{"recover", e.Recover != nil},
		{"partition", e.Partition != nil},
		{"condition", e.Condition != nil},
		{"taint", e.Taint != nil},
		{"untaint", e.Untaint != nil},
		{"cordon", e.Cordon != nil},
		{"uncordon", e.Uncordon != nil},
		{"drain", e.Drain != nil},
		{"outOfService", e.OutOfService != nil},
		{"loseLeases", e.LoseLeases != nil},
		{"showLeases", e.ShowLeases != nil},
		{"deleteNode", e.DeleteNode != nil},
		{"replaceNode", e.ReplaceNode != nil},
		{"roll", e.Roll != nil},
		{"addNode", e.AddNode != nil},
		{"addPod", e.AddPod != nil},
		{"deletePod", e.DeletePod != nil},
		{"forceDelete", e.ForceDelete != nil},
		{"api", e.API != nil},
		{"restart", e.Restart != nil},
		{"repeat", e.Repeat != nil},
	} {
		if action.has {
			names = append(names, action.name)
		}
	}
	return names
}

// Time returns At, or 0 if it is missing (Check reports that).
func (e *Event) Time() time.Duration { return e.At.Value() }

// Condition is set by a live kubelet and reported from then on.
type Condition struct {
	Selector `yaml:",inline"`

	Type   string `yaml:"type"`
	Status string `yaml:"status"` // True, False or Unknown
}

// Taint adds a taint, or replaces the one with the same key and effect.
type Taint struct {
	Selector `yaml:",inline"`

	Key    string `yaml:"key"`
	Value  string `yaml:"value"`
	Effect string `yaml:"effect"`
}

// Untaint removes the taint with that key and effect, if it is there.
type Untaint struct {
	Selector `yaml:",inline"`

	Key    string `yaml:"key"`
	Effect string `yaml:"effect"`
}

// Partition cuts nodes off from the API: their kubelets and pods go on running, but the API sees nothing of it. Recover
// ends it.
type Partition struct {
	Selector `yaml:",inline"`

	// Clients is the share of the clients that still reach the nodes' pods, from 0 to 1; nil means all.
	Clients *float64 `yaml:"clients"`
}

// Reach returns Clients, or 1 if it is nil.
func (p *Partition) Reach() float64 {
	if p.Clients == nil {
		return 1
	}
	return *p.Clients
}

// LoseLeases has the controllers' watch miss lease renewals.
type LoseLeases struct {
	Selector `yaml:",inline"`

	ShowAfter *Duration `yaml:"showAfter"` // each is shown that much later; nil means never
}

// ReplaceNode deletes nodes with their pods, and adds new ones with their names, labels and capacity, without the
// taints that they got since they were added. Pods of DaemonSets exist again.
type ReplaceNode struct {
	Selector `yaml:",inline"`

	After *Duration `yaml:"after"` // from the deletion to the first report of the new node; nil means 0
}

// Roll is a rolling replacement: each node is drained, and replaced as by ReplaceNode once it is empty.
type Roll struct {
	Selector `yaml:",inline"`

	After *Duration `yaml:"after"` // from the deletion of a node to the first report of the new one; nil means 0
	Wait  *Duration `yaml:"wait"`  // from then to the drain of the next node; nil means 0
}

// AddNode adds a node that makes its first report, Ready, at once. Its pods are <name>-p0, … and <name>-ds0, …, of the
// ReplicaSet and the DaemonSet with the zone's name.
type AddNode struct {
	Name                 string `yaml:"name"`
	Zone                 string `yaml:"zone"` // the label's value; empty means no label
	Region               string `yaml:"region"`
	PodsPerNode          int    `yaml:"podsPerNode"`
	DaemonSetPodsPerNode int    `yaml:"daemonSetPodsPerNode"`
	// TolerationSeconds is for its pods; nil means Settings.TolerationSeconds.
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds"`
	NodeFields        `yaml:",inline"`
	Pod               PodFields `yaml:"pod"` // for all its pods except DaemonSets'
}

// AddPod adds a pod in namespace default, Ready at once, and without an owner unless one is given.
type AddPod struct {
	Name              string             `yaml:"name"`
	Node              string             `yaml:"node"`
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds"` // nil means Settings.TolerationSeconds
	PodFields         `yaml:",inline"`
}

// DeletePod deletes a pod: a name in namespace default, or namespace/name.
type DeletePod struct {
	Name string `yaml:"name"`
}

// API makes API calls fail (down) or slow, until it is up again.
type API struct {
	State string `yaml:"state"`
	// Latency is how long a call takes before it takes effect, while the API is slow.
	Latency *Duration `yaml:"latency"`
	// For says whose calls are meant: the evictor's, the kubelets', or all. Empty means all.
	For string `yaml:"for"`
}

// States of API.
const (
	APIDown = "down"
	APISlow = "slow"
	APIUp   = "up"
)

// Values of API.For.
const (
	ForEvictor  = "evictor"
	ForKubelets = "kubelets"
	ForAll      = "all"
)

// Covers says whether it applies to the evictor, and whether to kubelets.
func (a *API) Covers() (evictor, kubelets bool) {
	return a.For != ForKubelets, a.For != ForEvictor
}

// Restart restarts the evictor's process.
type Restart struct{}

// Repeat is a group of events. Their times count from the start of each round.
type Repeat struct {
	Every  *Duration `yaml:"every"` // from the start of one round to the next
	Times  *int      `yaml:"times"` // rounds; nil means as many as begin before the end
	Events []Event   `yaml:"events"`
}
