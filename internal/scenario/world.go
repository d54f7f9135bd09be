package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// world is what exists during the replay of the events, as far as the scenario alone decides.
type world struct {
	scenario  *Scenario
	inventory Inventory
	faults    *faults

	nodes         map[string]*node // including deleted ones
	keys          []ZoneKey        // of zones, in order of appearance
	zones         map[ZoneKey]*zone
	size, podSize int // of what is generated

	addedPods   map[string]*node   // pods of namespace default that addPod made, and their nodes
	everAdded   map[string]bool    // every pod that addPod ever made
	replaced    map[[3]int][]*node // nodes deleted by replaceNode whose new ones are not there yet, by number, round and inner number
	deletedPods map[podName]*node  // pods deleted by deletePod and not added since, with the node that they were generated with, if any
}

type node struct {
	name      string
	zone      *zone
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

type zone struct {
	key    ZoneKey
	nodes  []*node // those that exist, by name
	driven bool    // by a trace
	trace  *ZoneTrace

	// What a trace last decided about, if nodes were added or deleted at the instant changed.
	before  []*node
	changed time.Duration
}

type podName struct{ namespace, name string }

// newWorld builds time 0 and reports duplicate names.
func newWorld(s *Scenario, inventory Inventory, f *faults) *world {
	w := &world{
		scenario:    s,
		inventory:   inventory,
		faults:      f,
		nodes:       make(map[string]*node),
		zones:       make(map[ZoneKey]*zone),
		addedPods:   make(map[string]*node),
		everAdded:   make(map[string]bool),
		replaced:    make(map[[3]int][]*node),
		deletedPods: make(map[podName]*node),
	}
	twice := duplicates{}
	for name, key := range inventory.Nodes() {
		silent := false
		if s, ok := inventory.(silencer); ok {
			silent = s.Silent(name)
		}
		n := &node{name: name, zone: w.zone(key), failed: silent}
		if l, ok := inventory.(labeler); ok {
			n.labels = l.Labels(name)
		}
		twice.add(!w.start(n), name)
	}
	twice.report(f, "cluster: files", "node")
	for i := range s.Cluster.Zones {
		w.generate(i)
	}
	for _, z := range w.zones {
		sortNodes(z.nodes)
	}
	return w
}

// generate checks generated zone i and adds its nodes, unless they are out of bounds.
func (w *world) generate(i int) {
	z := &w.scenario.Cluster.Zones[i]
	place := fmt.Sprintf("cluster: zone %d (%q)", i+1, z.Name)
	if !w.fits(place, z) {
		w.zone(z.Key()) // so that events on it are not reported as well
		return
	}
	var nodes, pods duplicates
	labels := NodeLabels(z.Key(), z.Labels)
	for i := range z.Nodes {
		n := &node{name: z.NodeName(i), zone: w.zone(z.Key()), labels: labels, pods: z.PodsPerNode, daemons: z.DaemonSetPodsPerNode}
		n.everPods, n.everDaemons = n.pods, n.daemons
		nodes.add(!w.start(n), n.name)
		if len(w.scenario.Cluster.Files) > 0 { // generated names never collide with each other
			w.namesakes(&pods, n)
		}
	}
	nodes.report(w.faults, place, "node")
	pods.report(w.faults, place, "pod")
}

// fits checks a generated zone by itself and says whether its nodes may be generated.
func (w *world) fits(place string, z *Zone) bool {
	f := w.faults
	if z.Name == "" {
		f.add("%s: name is missing", place)
	}
	label(f, place+": name", z.Name)
	label(f, place+": region", z.Region)
	z.NodeFields.check(f, place+": ")
	z.Pod.check(f, place+": pod: ")
	fits := bounded(f, place+": nodes", z.Nodes, MaxNodes)
	fits = bounded(f, place+": podsPerNode", z.PodsPerNode, MaxPodsPerNode) && fits
	fits = bounded(f, place+": daemonSetPodsPerNode", z.DaemonSetPodsPerNode, MaxPodsPerNode) && fits
	if !fits {
		return false
	}
	w.size += z.Nodes
	w.podSize += z.Nodes * (z.PodsPerNode + z.DaemonSetPodsPerNode)
	if w.size > MaxNodes || w.podSize > MaxPods {
		f.add("%s: this makes %d nodes and %d pods in zones; at most %d and %d are allowed",
			place, w.size, w.podSize, MaxNodes, MaxPods)
		w.size -= z.Nodes
		w.podSize -= z.Nodes * (z.PodsPerNode + z.DaemonSetPodsPerNode)
		return false
	}
	return true
}

func sortNodes(nodes []*node) {
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
}

// start adds a node of time 0, whose zone is sorted later. It returns false if the name is taken.
func (w *world) start(n *node) bool {
	if w.nodes[n.name] != nil {
		return false
	}
	n.initial = true
	w.nodes[n.name] = n
	n.zone.nodes = append(n.zone.nodes, n)
	return true
}

// zone finds or adds a zone. A zone exists from its first node on, and stays when the last one goes.
func (w *world) zone(key ZoneKey) *zone {
	z := w.zones[key]
	if z == nil {
		z = &zone{key: key}
		w.zones[key] = z
		w.keys = append(w.keys, key)
	}
	return z
}

func (w *world) resolve(ref string) (*zone, error) {
	key, err := ResolveZone(ref, w.keys)
	return w.zones[key], err
}

// node finds a node that exists.
func (w *world) node(name string) (*node, error) {
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
func (w *world) exists(name string) bool { n := w.nodes[name]; return n != nil && !n.gone }

// addNode adds a node whose name is free.
func (w *world) addNode(n *node, at time.Duration) {
	n.everPods, n.everDaemons = n.pods, n.daemons
	if before := w.nodes[n.name]; before != nil {
		n.everPods, n.everDaemons = max(n.pods, before.everPods), max(n.daemons, before.everDaemons)
	}
	w.nodes[n.name] = n
	n.zone.keep(at)
	i, _ := search(n.zone.nodes, n.name)
	n.zone.nodes = slices.Insert(n.zone.nodes, i, n)
}

func (w *world) deleteNode(n *node, event int, at time.Duration) {
	n.gone, n.deletedBy = true, event
	w.podSize -= n.pods + n.daemons
	n.zone.keep(at)
	i, _ := search(n.zone.nodes, n.name)
	n.zone.nodes = slices.Delete(n.zone.nodes, i, i+1)
}

// keep records what a trace last decided about, before a node is added or deleted.
func (z *zone) keep(at time.Duration) {
	if z.trace != nil && (z.before == nil || z.changed != at) {
		z.before, z.changed = slices.Clone(z.nodes), at
	}
}

func search(nodes []*node, name string) (int, bool) {
	return slices.BinarySearchFunc(nodes, name, func(n *node, name string) int { return cmp.Compare(n.name, name) })
}

// failedAt says whether a node has failed when the events of an instant happen; traces come after them.
func (n *node) failedAt(at time.Duration) bool {
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
	sample := driver.Trace.Sample(driver.Trace.Index(at - 1))
	return found && decided[rank] == n && rank >= driver.Trace.Alive(sample, len(decided), driver.Scale)
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
