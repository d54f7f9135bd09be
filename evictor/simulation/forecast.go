package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// world is what exists during the replay of the events, as far as the scenario alone decides.
type forecast struct {
	scenario *Scenario
	cluster  *cluster
	faults   *faults

	nodes         map[string]*foreseen // including deleted ones
	keys          []zone.Key           // of zones, in order of appearance
	zones         map[zone.Key]*foreseenZone
	size, podSize int // of what is generated

	addedPods   map[string]*foreseen   // pods of namespace default that addPod made, and their nodes
	everAdded   map[string]bool        // every pod that addPod ever made
	replaced    map[[3]int][]*foreseen // nodes deleted by replaceNode whose new ones are not there yet, by number, round and inner number
	deletedPods map[podName]*foreseen  // pods deleted by deletePod and not added since, with the node that they were generated with, if any
}

type foreseen struct {
	name      string
	zone      *foreseenZone
	initial   bool
	labels    map[string]string
	failed    bool // in a zone that a trace drives: at the start
	parted    bool // failed because it cannot reach the API
	gone      bool
	deletedBy int // number of the event

	// The pods generated with the node, and the most that a node with its name ever had.
	pods, daemons         int
	everPods, everDaemons int
}

type foreseenZone struct {
	key    zone.Key
	nodes  []*foreseen // those that exist, by name
	driven bool        // by a trace
	trace  *recording

	// What a trace last decided about, if nodes were added or deleted at the instant changed.
	before  []*foreseen
	changed time.Duration
}

type podName struct{ namespace, name string }

// emptyForecast knows no node yet.
func emptyForecast(s *Scenario, c *cluster, f *faults) *forecast {
	return &forecast{
		scenario:    s,
		cluster:     c,
		faults:      f,
		nodes:       make(map[string]*foreseen),
		zones:       make(map[zone.Key]*foreseenZone),
		addedPods:   make(map[string]*foreseen),
		everAdded:   make(map[string]bool),
		replaced:    make(map[[3]int][]*foreseen),
		deletedPods: make(map[podName]*foreseen),
	}
}

// newForecast builds time 0 and reports duplicate names.
func newForecast(s *Scenario, c *cluster, f *faults) *forecast {
	w := emptyForecast(s, c, f)
	w.knowAll()
	return w
}

// knowAll adds all nodes of time 0.
func (w *forecast) knowAll() {
	for i := range w.cluster.nodes {
		if n := &w.cluster.nodes[i]; !n.deleted {
			w.known(n)
		}
	}
	for i := range w.scenario.Zones {
		w.generate(i)
	}
	for _, z := range w.zones {
		sortNodes(z.nodes)
	}
}

// known adds a node of the cluster.
func (w *forecast) known(n *node) {
	w.start(&foreseen{name: n.name, zone: w.zone(n.zone), failed: n.failed, labels: n.labels})
}

// generate checks generated zone i and adds its nodes, unless they are out of bounds.
func (w *forecast) generate(i int) {
	z := &w.scenario.Zones[i]
	place := fmt.Sprintf("zone %d (%q)", i+1, z.Name)
	if !w.fits(place, z) {
		w.zone(z.Key()) // so that events on it are not reported as well
		return
	}
	var nodes, pods duplicates
	labels := nodeLabels(z.Key(), z.Labels)
	for i := range z.Nodes {
		n := &foreseen{name: z.NodeName(i), zone: w.zone(z.Key()), labels: labels, pods: z.PodsPerNode, daemons: z.DaemonSetPodsPerNode}
		n.everPods, n.everDaemons = n.pods, n.daemons
		nodes.add(!w.start(n), n.name)
		if len(w.cluster.pods)+len(w.cluster.unbound) > 0 { // generated names never collide with each other
			w.namesakes(&pods, n)
		}
	}
	nodes.report(w.faults, place, "node")
	pods.report(w.faults, place, "pod")
}

// fits checks a generated zone by itself and says whether its nodes may be generated.
func (w *forecast) fits(place string, z *Zone) bool {
	f := w.faults
	if z.Name == "" {
		f.add("%s: name is missing", place)
	}
	checkLabel(f, place+": name", z.Name)
	checkLabel(f, place+": region", z.Region)
	z.NodeFields.check(f, place+": ")
	z.Pod.check(f, place+": pod: ")
	fits := bounded(f, place+": nodes", z.Nodes, maxNodes)
	fits = bounded(f, place+": podsPerNode", z.PodsPerNode, maxPodsPerNode) && fits
	fits = bounded(f, place+": daemonSetPodsPerNode", z.DaemonSetPodsPerNode, maxPodsPerNode) && fits
	if !fits {
		return false
	}
	w.size += z.Nodes
	w.podSize += z.Nodes * (z.PodsPerNode + z.DaemonSetPodsPerNode)
	if w.size > maxNodes || w.podSize > maxPods {
		f.add("%s: this makes %d nodes and %d pods in zones; at most %d and %d are allowed",
			place, w.size, w.podSize, maxNodes, maxPods)
		w.size -= z.Nodes
		w.podSize -= z.Nodes * (z.PodsPerNode + z.DaemonSetPodsPerNode)
		return false
	}
	return true
}

func sortNodes(nodes []*foreseen) {
	slices.SortFunc(nodes, func(a, b *foreseen) int { return cmp.Compare(a.name, b.name) })
}

// start adds a node of time 0, whose zone is sorted later. It returns false if the name is taken.
func (w *forecast) start(n *foreseen) bool {
	if w.nodes[n.name] != nil {
		return false
	}
	n.initial = true
	w.nodes[n.name] = n
	n.zone.nodes = append(n.zone.nodes, n)
	return true
}

// zone finds or adds a zone. A zone exists from its first node on, and stays when the last one goes.
func (w *forecast) zone(key zone.Key) *foreseenZone {
	z := w.zones[key]
	if z == nil {
		z = &foreseenZone{key: key}
		w.zones[key] = z
		w.keys = append(w.keys, key)
	}
	return z
}

func (w *forecast) resolve(ref string) (*foreseenZone, error) {
	key, err := resolveZone(ref, w.keys)
	return w.zones[key], err
}

// node finds a node that exists.
func (w *forecast) node(name string) (*foreseen, error) {
	n := w.nodes[name]
	switch {
	case name == "":
		return nil, fmt.Errorf("node is missing")
	case n == nil:
		return nil, fmt.Errorf("node %q does not exist", name)
	case n.gone:
		return nil, fmt.Errorf("node %q no longer exists: event %d deletes it", name, n.deletedBy)
	}
	return n, nil
}

// exists says whether a name is taken.
func (w *forecast) exists(name string) bool { n := w.nodes[name]; return n != nil && !n.gone }

// addNode adds a node whose name is free.
func (w *forecast) addNode(n *foreseen, at time.Duration) {
	n.everPods, n.everDaemons = n.pods, n.daemons
	if before := w.nodes[n.name]; before != nil {
		n.everPods, n.everDaemons = max(n.pods, before.everPods), max(n.daemons, before.everDaemons)
	}
	w.nodes[n.name] = n
	n.zone.keep(at)
	i, _ := search(n.zone.nodes, n.name)
	n.zone.nodes = slices.Insert(n.zone.nodes, i, n)
}

func (w *forecast) deleteNode(n *foreseen, event int, at time.Duration) {
	n.gone, n.deletedBy = true, event
	w.podSize -= n.pods + n.daemons
	n.zone.keep(at)
	i, _ := search(n.zone.nodes, n.name)
	n.zone.nodes = slices.Delete(n.zone.nodes, i, i+1)
}

// keep records what a trace last decided about, before a node is added or deleted.
func (z *foreseenZone) keep(at time.Duration) {
	if z.trace != nil && (z.before == nil || z.changed != at) {
		z.before, z.changed = slices.Clone(z.nodes), at
	}
}

func search(nodes []*foreseen, name string) (int, bool) {
	return slices.BinarySearchFunc(nodes, name, func(n *foreseen, name string) int { return cmp.Compare(n.name, name) })
}

// failedAt says whether a node has failed when the events of an instant happen; traces come after them.
func (n *foreseen) failedAt(at time.Duration) bool {
	driver := n.zone.trace
	if driver == nil {
		return n.failed
	}
	if at <= 0 {
		return n.failed
	}
	decided := n.zone.nodes
	if n.zone.before != nil && n.zone.changed == at {
		decided = n.zone.before
	}
	rank, found := search(decided, n.name)
	sample := driver.sample(driver.index(at - 1))
	return found && decided[rank] == n && rank >= driver.alive(sample, len(decided))
}

// duplicates counts names that are taken, and keeps the first for the report.
type duplicates struct {
	first string
	count int
}

func (d *duplicates) add(taken bool, name string) {
	if !taken {
		return
	}
	if d.count == 0 {
		d.first = name
	}
	d.count++
}

func (d *duplicates) report(f *faults, place, what string) {
	switch d.count {
	case 0:
	case 1:
		f.add("%s: %s %q already exists", place, what, d.first)
	default:
		f.add("%s: %s %q already exists (and %d more)", place, what, d.first, d.count-1)
	}
}
