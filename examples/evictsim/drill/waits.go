package drill

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Result is a loss and its outcome with today's settings.
type Result struct {
	Loss
	*simulation.Report
	waits map[string]*wait // by workload that lost pods
}

// wait is what the pods of a workload on the lost nodes waited for, until they came back or their nodes did. Times are sums over
// the pods.
type wait struct {
	pods     int
	noticing time.Duration // until the silence of their nodes was found
	turn     time.Duration // then until these were tainted
	tolerated,
	deleted, // but their objects, or the volumes attached to their nodes, kept the next pod from beginning
	placing time.Duration
	untainted int // nodes' turns never came
	forever   int // pods that their nodes' taints never evicted
	stuck     int // pods that were deleted and could not be replaced before the nodes were back
	held      int // pods that were gone, but another of their StatefulSet came first
	// refusal is that of the pod that waited longest for a node.
	refusal *simulation.Unplaced
	longest time.Duration
}

// fate is what became of a pod on a lost node. Times that are 0 never came.
type fate struct {
	evicted, refused, placed time.Duration
	held                     time.Duration // when its StatefulSet could create it, but another pod came first
	refusal                  *simulation.Unplaced
}

// recorder notes the fates of the pods on the lost nodes.
type recorder struct {
	cluster         *Cluster
	lost            []string // sorted nodes
	silent, tainted map[string]time.Duration
	replaced        time.Duration // after it may be, a pod is
	fates           map[evictor.PodKey]*fate
}

// Play plays a loss with today's settings.
func (c *Cluster) Play(ctx context.Context, loss Loss) (Result, error) { return c.play(ctx, loss) }

func (c *Cluster) play(ctx context.Context, loss Loss, alters ...alter) (Result, error) {
	played := c.scenario(loss, alters...)
	r := recorder{
		cluster: c, lost: slices.Sorted(slices.Values(loss.Nodes)), silent: make(map[string]time.Duration), tainted: make(map[string]time.Duration),
		replaced: played.WithDefaults().ReplaceAfter, fates: make(map[evictor.PodKey]*fate),
	}
	for key, pod := range c.pods {
		if _, on := slices.BinarySearch(r.lost, pod.node); on {
			r.fates[key] = new(fate)
		}
	}
	played.Timeline, played.Refused, played.Happened = r.written, r.refused, r.happened
	report, err := simulation.Play(ctx, played)
	if err != nil {
		return Result{}, err
	}
	return Result{Loss: loss, Report: report, waits: r.waits(Begins+loss.For, report)}, nil
}

// written notes what the evictor did to lost nodes and their pods, and which pods a StatefulSet does not create yet.
func (r *recorder) written(l timeline.Line) error {
	if f := r.fates[keyOf(l.Pod)]; l.Kind == timeline.KindHeld && f != nil {
		f.held = l.T // written once
	}
	if _, on := slices.BinarySearch(r.lost, l.Node); !on {
		return nil
	}
	first := func(at map[string]time.Duration) {
		if at[l.Node] == 0 {
			at[l.Node] = l.T
		}
	}
	switch l.Kind {
	case timeline.KindCondition:
		if l.Type == string(v1.NodeReady) {
			first(r.silent)
		}
	case timeline.KindTaint:
		if l.Effect == string(v1.TaintEffectNoExecute) && l.Op == timeline.OpAdd {
			first(r.tainted)
		}
	case timeline.KindEvict:
		if f := r.fates[keyOf(l.Pod)]; f != nil && f.evicted == 0 {
			f.evicted = l.T
		}
	default: // it says nothing about these pods
	}
	return nil
}

func (r *recorder) refused(at time.Duration, pod evictor.PodKey, why *simulation.Unplaced) {
	if f := r.fates[pod]; f != nil && f.refused == 0 && f.placed == 0 {
		f.refused, f.refusal = at, why
	}
}

func (r *recorder) happened(h simulation.Happening) {
	if f := r.fates[h.Was]; f != nil && f.placed == 0 {
		f.placed = h.At
	}
}

// waits adds the fates of each workload up. The lost nodes are back at end.
func (r *recorder) waits(end time.Duration, report *simulation.Report) map[string]*wait {
	all := make(map[string]*wait)
	byName := func(a, b evictor.PodKey) int { return strings.Compare(a.String(), b.String()) }
	for _, key := range slices.SortedFunc(maps.Keys(r.fates), byName) {
		f, pod := r.fates[key], r.cluster.pods[key]
		if pod.workload == "" {
			continue
		}
		w := all[pod.workload]
		if w == nil {
			w = new(wait)
			all[pod.workload] = w
		}
		w.add(f, r.silent[pod.node], r.tainted[pod.node], end, r.replaced)
	}
	for i := range report.FailedJobs {
		if w := all[nameOfJob(&report.FailedJobs[i])]; w != nil {
			w.stuck = 0 // nobody waits for them
		}
	}
	return all
}

func nameOfJob(j *simulation.FailedJob) string { return nameOf(j.Namespace, "Job", j.Name) }

// Stuck counts the pods that were deleted and could not be replaced before the lost nodes were back, because their objects, or the
// volumes attached to those nodes, stood in the way.
func (r *Result) Stuck() (stuck int) {
	for _, w := range r.waits {
		stuck += w.stuck
	}
	return stuck
}

// add adds the fate of a pod on a node, which is replaced so long after it may be. Times that are 0 never came.
func (w *wait) add(f *fate, silent, tainted, end, replaced time.Duration) {
	until := func(at time.Duration) time.Duration {
		if at == 0 || at > end {
			return end
		}
		return at
	}
	if f.refused >= end { // its node is back, and its kubelet only starts
		f.refused, f.refusal = 0, nil
	}
	silent, tainted = min(until(silent), until(f.evicted)), min(until(tainted), until(f.evicted))
	w.pods++
	w.noticing += silent - Begins
	w.turn += max(tainted-silent, 0)
	w.tolerated += until(f.evicted) - max(tainted, silent)
	switch {
	case f.evicted == 0 && tainted == end:
		w.untainted++
	case f.evicted == 0 || f.evicted > end:
		w.forever++
	case f.refused > 0 || until(f.placed) < end || end-f.evicted < time.Minute:
	case until(f.held) < end:
		w.held++
	default:
		w.stuck++
	}
	if f.evicted == 0 {
		return
	}
	tried := until(f.placed)
	if f.refused > 0 {
		tried = min(tried, f.refused)
	}
	w.deleted += max(tried-until(f.evicted)-replaced, 0)
	placing := until(f.placed) - min(tried, end)
	w.placing += placing
	if f.refusal != nil && (w.refusal == nil || placing > w.longest) {
		w.refusal, w.longest = f.refusal, placing
	}
}

// keyOf reads the name of a pod in a timeline.
func keyOf(name string) evictor.PodKey {
	namespace, pod, found := strings.Cut(name, "/")
	if !found {
		return evictor.PodKey{Namespace: v1.NamespaceDefault, Name: name}
	}
	return evictor.PodKey{Namespace: namespace, Name: pod}
}
