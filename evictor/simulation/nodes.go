package simulation

import (
	"bytes"
	"crypto/sha256"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
)

// Nodes selects nodes: those in Names, or those that match Zone and Labels. With only Count or Percent set, it selects
// among all nodes. A name that does not exist is an error. The zero Nodes is an error too, so that a forgotten field
// does not select the whole cluster; use Percent: 100 for that.
type Nodes struct {
	Names []string `yaml:"nodes,omitempty"`
	// Zone is the zone's name; region:name if two regions have a zone of that name, and ":" for nodes without a zone.
	Zone string `yaml:"zone,omitempty"`
	// Labels is a label selector in kubectl's syntax, such as pool=gpu,!spot.
	Labels string `yaml:"selector,omitempty"`
	// Count and Percent limit the selection, for example to nodes that have not failed yet for Fail. Nodes are taken in
	// the order of their names, or in the order that Seed gives. Percent is a share of all selected nodes, rounded to the
	// nearest node, half up. If both are 0, all are taken.
	Count   int     `yaml:"count,omitempty"`
	Percent float64 `yaml:"percent,omitempty"`
	// Seed, if not 0, shuffles the order in which Count and Percent take nodes. Equal seeds give equal orders.
	Seed int64 `yaml:"seed,omitempty"`
}

// several says whether it chooses among nodes instead of naming them.
func (n *Nodes) several() bool { return len(n.Names) == 0 }

// most returns how many of that many nodes are chosen at most.
func (n *Nodes) most(nodes int) int {
	switch {
	case n.Count != 0:
		return n.Count
	case n.Percent != 0:
		return int(math.Floor(float64(nodes)*n.Percent/100 + 0.5))
	}
	return nodes
}

// order puts the names, which are sorted, into the order of choice in a round of repeat, counted from 0. With a seed,
// that is the order of the SHA-256 of "<seed+round>/<name>".
func (n *Nodes) order(names []string, round int) []string {
	if n.Seed == 0 {
		return names
	}
	type drawn struct {
		name string
		sum  [sha256.Size]byte
	}
	all := make([]drawn, len(names))
	prefix := strconv.FormatInt(n.Seed+int64(round), 10) + "/"
	for i, name := range names {
		all[i] = drawn{name, sha256.Sum256([]byte(prefix + name))}
	}
	slices.SortFunc(all, func(a, b drawn) int { return bytes.Compare(a.sum[:], b.sum[:]) })
	ordered := make([]string, len(all))
	for i := range all {
		ordered[i] = all[i].name
	}
	return ordered
}

// check reports the faults of a selection by itself, and says whether it can be used.
func (n *Nodes) check(f faults) bool {
	switch {
	case n.several() && n.Zone == "" && n.Labels == "" && n.Count == 0 && n.Percent == 0:
		f.in("nodes").add("nothing is selected: set names, a zone, labels, a count or a percentage")
		return false
	case !n.several() && (n.Zone != "" || n.Labels != ""):
		f.in("nodes").add("both names and a zone or labels are set")
		return false
	}
	if n.Count < 0 {
		f.in("count").add("%d is negative", n.Count)
	}
	if !(n.Percent >= 0 && n.Percent <= 100) {
		f.in("percent").add("%v is outside 0…100", n.Percent)
	}
	for _, of := range []struct {
		name  string
		given bool
	}{{"count", n.Count != 0}, {"percent", n.Percent != 0}, {"seed", n.Seed != 0}} {
		if of.given && !n.several() {
			f.at("", of.name).add("%s is not allowed with names", of.name)
		}
	}
	if n.Count != 0 && n.Percent != 0 {
		f.at("", "percent").add("count and percent cannot both be set")
	}
	if n.Seed != 0 && n.Count == 0 && n.Percent == 0 {
		f.at("", "seed").add("seed is allowed only with count or percent")
	}
	if _, err := labels.Parse(n.Labels); err != nil {
		f.at("", "selector").add("selector %q: %w", n.Labels, err)
		return false
	}
	return true
}

// describe returns a text for the nodes, such as 10 % of zone a.
func (n *Nodes) describe() string {
	switch {
	case len(n.Names) == 1:
		return "node " + n.Names[0]
	case !n.several():
		return some(len(n.Names))
	}
	text := ""
	switch {
	case n.Count != 0:
		text = some(n.Count) + " of "
	case n.Percent != 0 && n.Percent != 100:
		text = strconv.FormatFloat(n.Percent, 'f', -1, 64) + " % of "
	}
	switch {
	case n.Zone != "" && n.Labels != "":
		text += "zone " + n.Zone + " with " + n.Labels
	case n.Zone != "":
		text += "zone " + n.Zone
	case n.Labels != "":
		text += "nodes with " + n.Labels
	default:
		text += "all nodes"
	}
	return text
}

func some(nodes int) string {
	if nodes == 1 {
		return "1 node"
	}
	return strconv.Itoa(nodes) + " nodes"
}
