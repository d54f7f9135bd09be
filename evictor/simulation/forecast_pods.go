package simulation

import (
	"regexp"
	"strconv"
	"strings"
)

// podExists says whether a pod's name is taken, as far as the scenario alone decides.
func (w *forecast) podExists(namespace, name string) bool {
	if namespace == "default" {
		if node, ok := w.addedPods[name]; ok && !node.gone {
			return true
		}
	}
	if n, ok := w.deletedPods[podName{namespace, name}]; ok && n == w.owner(namespace, name) {
		return false
	}
	if owner, daemon, i, ok := generatedPod(name); ok && namespace == "default" && w.exists(owner) {
		if n := w.nodes[owner]; daemon && i < n.daemons || !daemon && i < n.pods {
			return true
		}
	}
	name, ok := w.cluster.holds(namespace, name)
	n := w.nodes[name]
	return ok && (n == nil || n.initial && !n.gone)
}

// owner returns the node, gone or not, that this pod may have been generated with, or nil.
func (w *forecast) owner(namespace, name string) *foreseen {
	if owner, _, _, ok := generatedPod(name); ok && namespace == "default" {
		return w.nodes[owner]
	}
	return nil
}

// podKnown says whether a pod ever existed, by its name or, with rescheduling, by the name under which it came back.
func (w *forecast) podKnown(namespace, name string) bool {
	if namespace == "default" && w.everAdded[name] {
		return true
	}
	if owner, daemon, i, ok := generatedPod(name); ok && namespace == "default" {
		if n := w.nodes[owner]; n != nil && (daemon && i < n.everDaemons || !daemon && i < n.everPods) {
			return true
		}
	}
	if _, ok := w.cluster.holds(namespace, name); ok {
		return true
	}
	if original := rebornName.ReplaceAllString(name, ""); w.scenario.ReplaceAfter >= 0 && original != name {
		return w.podKnown(namespace, original)
	}
	return false
}

var rebornName = regexp.MustCompile(`-r[1-9][0-9]*$`)

// generatedPod splits <node>-p<i> and <node>-ds<i>.
func generatedPod(name string) (node string, daemon bool, i int, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return "", false, 0, false
	}
	node, rest := name[:dash], name[dash+1:]
	digits, daemon := strings.CutPrefix(rest, "ds")
	if !daemon {
		digits, ok = strings.CutPrefix(rest, "p")
		if !ok {
			return "", false, 0, false
		}
	}
	i, err := strconv.Atoi(digits)
	return node, daemon, i, err == nil && strconv.Itoa(i) == digits
}

// namesakes counts the pods of a generated node that are also in the files.
func (w *forecast) namesakes(pods *duplicates, n *foreseen) {
	for i := range n.pods {
		_, exists := w.cluster.holds("default", podNameOf(n.name, i))
		pods.add(exists, podNameOf(n.name, i))
	}
	for i := range n.daemons {
		_, exists := w.cluster.holds("default", daemonSetPodName(n.name, i))
		pods.add(exists, daemonSetPodName(n.name, i))
	}
}
