package simulation

import (
	"strings"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// replace checks and plays replaceNode: first the nodes are deleted, later new ones are added.
func (w *forecast) replace(f *faults, e *Planned) {
	at := [3]int{e.Number, e.Round, e.Inner}
	if !e.Registers {
		if after := e.ReplaceNode.After; after < 0 {
			f.add("after: %v is negative", after)
		}
		for _, n := range w.some(e, w.selected(f, e), func(*foreseen) bool { return true }) {
			w.deleteNode(n, e.Number, e.At)
			w.replaced[at] = append(w.replaced[at], n)
		}
		return
	}
	for _, old := range w.replaced[at] {
		if w.exists(old.name) {
			f.add("node %q already exists", old.name)
			continue
		}
		w.podSize += old.daemons
		w.addNode(&foreseen{name: old.name, zone: old.zone, labels: old.labels, daemons: old.daemons}, e.At)
	}
	delete(w.replaced, at)
}

func (w *forecast) add(f *faults, a *AddNode, at time.Duration) {
	a = a.fields()
	checkLabel(f, "zone", a.Zone)
	checkLabel(f, "region", a.Region)
	a.NodeFields.check(f, "")
	a.Pod.check(f, "pod: ")
	fits := bounded(f, "podsPerNode", a.PodsPerNode, maxPodsPerNode)
	if !bounded(f, "daemonSetPodsPerNode", a.DaemonSetPodsPerNode, maxPodsPerNode) || !fits {
		return
	}
	switch {
	case a.Name == "":
		f.add("name is missing")
		return
	case w.exists(a.Name):
		f.add("node %q already exists", a.Name)
		return
	}
	objectName(f, a.Name)
	if w.podSize += a.PodsPerNode + a.DaemonSetPodsPerNode; w.podSize > maxPods {
		f.add("podsPerNode: this makes %d generated pods; at most %d are allowed", w.podSize, maxPods)
		w.podSize -= a.PodsPerNode + a.DaemonSetPodsPerNode
		return
	}
	var pods duplicates
	for i := range a.PodsPerNode {
		pods.add(w.podExists("default", podNameOf(a.Name, i)), podNameOf(a.Name, i))
	}
	for i := range a.DaemonSetPodsPerNode {
		pods.add(w.podExists("default", daemonSetPodName(a.Name, i)), daemonSetPodName(a.Name, i))
	}
	pods.report(f, "podsPerNode", "pod")
	key := zone.Key{Region: a.Region, Zone: a.Zone}
	w.addNode(&foreseen{name: a.Name, zone: w.zone(key), labels: nodeLabels(key, a.Labels), pods: a.PodsPerNode, daemons: a.DaemonSetPodsPerNode}, at)
}

func (w *forecast) addPod(f *faults, a *AddPod) {
	a.PodFields.check(f, "")
	n := w.mustExist(f, a.Node)
	switch {
	case a.Name == "":
		f.add("name is missing")
	case strings.Contains(a.Name, "/"):
		f.add("name: %q contains a slash; added pods are in namespace default", a.Name)
	case w.podExists("default", a.Name):
		f.add("pod %q already exists", a.Name)
	case !objectName(f, a.Name):
	case n != nil:
		w.addedPods[a.Name] = n
		w.everAdded[a.Name] = true
	}
}

func (w *forecast) deletePod(f *faults, d *Pod) {
	namespace, name := splitPodName(d.Name)
	switch {
	case name == "":
		f.add("name is missing")
	case !w.podKnown(namespace, name):
		f.add("pod %q does not exist", d.Name)
	default:
		if namespace == "default" {
			delete(w.addedPods, name)
		}
		w.deletedPods[podName{namespace, name}] = w.owner(namespace, name)
	}
}
