package scenario

import "time"

// Event is one thing that happens: At, and exactly one of the actions.
type Event struct {
	At         *Duration  `yaml:"at"` // required
	Fail       *Selector  `yaml:"fail"`
	Recover    *Selector  `yaml:"recover"`
	Condition  *Condition `yaml:"condition"`
	Taint      *Taint     `yaml:"taint"`
	Untaint    *Untaint   `yaml:"untaint"`
	Cordon     *NodeRef   `yaml:"cordon"`
	Uncordon   *NodeRef   `yaml:"uncordon"`
	DeleteNode *NodeRef   `yaml:"deleteNode"`
	AddNode    *AddNode   `yaml:"addNode"`
	AddPod     *AddPod    `yaml:"addPod"`
	DeletePod  *DeletePod `yaml:"deletePod"`
	// ForceDelete removes a pod's object at once, also from a silent node.
	ForceDelete *DeletePod `yaml:"forceDelete"`
	API         *API       `yaml:"api"`
	Restart     *Restart   `yaml:"restart"`
}

// Actions are the names of the actions that the event has; a sound event has one.
func (e *Event) Actions() []string {
	var names []string
	for _, action := range []struct {
		name string
		has  bool
	}{
		{"fail", e.Fail != nil},
		{"recover", e.Recover != nil},
		{"condition", e.Condition != nil},
		{"taint", e.Taint != nil},
		{"untaint", e.Untaint != nil},
		{"cordon", e.Cordon != nil},
		{"uncordon", e.Uncordon != nil},
		{"deleteNode", e.DeleteNode != nil},
		{"addNode", e.AddNode != nil},
		{"addPod", e.AddPod != nil},
		{"deletePod", e.DeletePod != nil},
		{"forceDelete", e.ForceDelete != nil},
		{"api", e.API != nil},
		{"restart", e.Restart != nil},
	} {
		if action.has {
			names = append(names, action.name)
		}
	}
	return names
}

// Time is At, 0 when it is missing (Check reports that).
func (e *Event) Time() time.Duration { return e.At.Value() }

// Selector chooses nodes: exactly one of Zone, Node and Nodes. Count goes with Zone: the first so many
// in name order that qualify (are alive, for fail; have failed, for recover); nil means all.
type Selector struct {
	Zone  *string  `yaml:"zone"`
	Node  string   `yaml:"node"`
	Nodes []string `yaml:"nodes"`
	Count *int     `yaml:"count"`
}

// Condition is set by a live kubelet and reported from then on.
type Condition struct {
	Node   string `yaml:"node"`
	Type   string `yaml:"type"`
	Status string `yaml:"status"` // True, False or Unknown
}

// Taint adds a taint, or replaces the one of that key and effect.
type Taint struct {
	Node   string `yaml:"node"`
	Key    string `yaml:"key"`
	Value  string `yaml:"value"`
	Effect string `yaml:"effect"`
}

// Untaint removes the taint of that key and effect, if it is there.
type Untaint struct {
	Node   string `yaml:"node"`
	Key    string `yaml:"key"`
	Effect string `yaml:"effect"`
}

// NodeRef names a node.
type NodeRef struct {
	Node string `yaml:"node"`
}

// AddNode adds a node that is Ready from its first report, which it makes at once. Its pods are
// <name>-p0, …
type AddNode struct {
	Name        string `yaml:"name"`
	Zone        string `yaml:"zone"` // the label's value; empty: no label
	Region      string `yaml:"region"`
	PodsPerNode int    `yaml:"podsPerNode"`
	// TolerationSeconds is that of its pods; nil: Settings.TolerationSeconds.
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds"`
}

// AddPod adds a pod of namespace default without an owner, Ready at once.
type AddPod struct {
	Name              string             `yaml:"name"`
	Node              string             `yaml:"node"`
	TolerationSeconds *TolerationSeconds `yaml:"tolerationSeconds"` // nil: Settings.TolerationSeconds
}

// DeletePod deletes a pod: a name of namespace default, or namespace/name.
type DeletePod struct {
	Name string `yaml:"name"`
}

// API makes every write of the evictor fail (down) until it is up again.
type API struct {
	State string `yaml:"state"`
}

// States of API.
const (
	APIDown = "down"
	APIUp   = "up"
)

// Restart restarts the evictor's process.
type Restart struct{}
