package differential

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/zone"
)

// order is the order in which upstream's queues served nodes: ties are broken by the order of a map.
type order struct {
	times  map[string][]time.Duration
	direct bool
	late   time.Duration              // see match
	gone   map[string]time.Duration   // when upstream evicted a pod first
	lag    map[zone.Key]time.Duration // upstream's lag in each zone
	known  *incarnations
}

func orderOf(s *scenariofile.Scenario, upstream []timeline.Line, late time.Duration, known *incarnations) *order {
	o := &order{known: known, times: map[string][]time.Duration{}, direct: !s.Config.TaintBasedEviction, late: late, gone: map[string]time.Duration{}, lag: map[zone.Key]time.Duration{}}
	for _, l := range upstream {
		if _, again := o.gone[l.Pod]; l.Kind == timeline.KindEvict && !again {
			o.gone[l.Pod] = l.T
		}
		if served(l, o.direct) {
			o.times[l.Node] = append(o.times[l.Node], l.T)
		}
	}
	return o
}

// next returns which of the waiting nodes upstream served first from now on. Without taints, a node that has no pods to
// delete is served unseen: it had the first turn if the first visible one comes later than its own turn.
func (o *order) next(w *simulation.World, key zone.Key, waiting []string) string {
	const early = time.Second // ours comes up to a pass earlier
	now := w.Clock().Since(epoch)
	seen, at, unseen := "", forever, ""
	for _, name := range waiting {
		empty := o.direct && !o.deletes(w, name, now)
		known := o.known.node(name, now)
		first := o.after(known, now-early)
		if empty && first < now-time.Millisecond { // its pods left for another reason, and its turn is still to come
			first = o.after(known, now-time.Millisecond)
		}
		if first < at {
			seen, at = name, first
		} else if first == forever && unseen == "" && empty {
			unseen = name
		}
	}
	switch {
	case unseen != "" && at > now+max(o.late, o.lag[key])+2*tick:
		return unseen
	case seen == "":
		return waiting[0]
	}
	if lag := at - now; lag <= max(o.late, o.lag[key])+2*tick { // else it left for another reason
		o.lag[key] = lag
	}
	return seen
}

func (o *order) after(name string, from time.Duration) time.Duration {
	for _, t := range o.times[name] {
		if t >= from {
			return t
		}
	}
	return forever
}

// deletes says whether a node has a pod that is deleted, by ours and by upstream, when the node's turn comes now.
func (o *order) deletes(w *simulation.World, name string, now time.Duration) (some bool) {
	w.Clients().Pods.PodsOnNode(name, func(pod *v1.Pod) bool {
		owner := metav1.GetControllerOf(pod)
		spared := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed || pod.Annotations[v1.MirrorPodAnnotationKey] != ""
		gone, left := o.gone[o.known.pod(pod.Name, now)]
		some = pod.DeletionTimestamp == nil && !spared && !(left && gone < now-time.Millisecond) && (owner == nil || owner.Kind != "DaemonSet")
		return !some
	})
	return some
}
