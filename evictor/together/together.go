package together

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Writer is a PodWriter around a PodWriter that evicts whole groups. PodWriter, Nodes, Pods and Group are required; set the
// fields before the first eviction. Programs call none of its methods. Its functions are called with nothing locked, from
// several goroutines at once under Run, and a panic of theirs is the evictor's to survive.
type Writer struct {
	nodelifecycle.PodWriter // evicts each pod, and marks pods not Ready
	Nodes                   cluster.NodeStore
	Pods                    cluster.PodStore
	// Group returns the pods that leave with this one. It may name the pod itself, pods that do not exist, and a pod twice.
	// Those that are terminating or completed, that wait for a node or whose node is gone, are no members. None: the pod
	// leaves alone.
	Group func(pod *v1.Pod) []cluster.PodKey
	// Gate is asked about harm and the eviction for each member before any of them leaves, and about harm and a write before
	// each; give the evictor's. act.Why is the condemned pod's. Nil permits everything.
	Gate gate.Gate
	// Domain returns the domain of a member's node for Gate; nil for zone.KeyOf of its labels. Give the evictor's.
	Domain func(node *v1.Node) zone.Key
	// Held says why a member's node is held, empty if it is not. It is asked like Gate. Nil: none is. An evictor's Nodes().Held
	// knows.
	Held func(node string) (reason string)
	// Check returns the error that evicting the pod would return now, and evicts nothing. Nil permits everything.
	Check func(ctx context.Context, pod cluster.PodRef) error
	// Observer gets the evictions of members that were made (PodEvicted) and that failed (WriteFailed). Of PodEvicted,
	// Reason is Together, Err names the pod that it goes with, and the taint, toleration and deadline are that pod's; there is
	// no taint if a failed node is emptied. Give the evictor's, so that guards and gates that count hear of them. The evictor
	// may tell of other decisions at the same time. Nil: nobody is told.
	Observer func(tainteviction.Decision)
	// Clock is that of the evictor; nil for the real one.
	Clock clock.PassiveClock

	mu      sync.Mutex
	leaving map[cluster.PodKey]bool           // by calls of Evict that have not returned
	left    map[cluster.PodKey]cluster.PodRef // evicted; the store may not show that yet
	sweepAt int                               // how many of these there are when those that the store shows are forgotten
}

// member is a pod that leaves; the condemned pod is one, too.
type member struct {
	ref    cluster.PodRef
	object *v1.Pod
	node   *v1.Node
	domain zone.Key
}

// Evict evicts the pod and, before it, those that leave with it.
func (w *Writer) Evict(ctx context.Context, pod cluster.PodRef, why taints.Deadline) error {
	object, _ := w.Pods.Pod(pod.PodKey)
	condemned := w.member(object)
	if condemned.ref != pod {
		return w.PodWriter.Evict(ctx, pod, why)
	}
	leaving := append(w.members(condemned, why), condemned)
	if err := w.claim(leaving); err != nil {
		return err
	}
	defer w.release(leaving)
	switch {
	case w.hasLeft(pod):
		return apierrors.NewNotFound(v1.Resource("pods"), pod.Name) // with another pod
	case len(leaving) == 1:
		return w.PodWriter.Evict(ctx, pod, why)
	}
	for _, m := range leaving {
		if err := w.ask(ctx, m, pod, why); err != nil {
			return err
		}
	}
	return w.leave(ctx, leaving, pod, why)
}

// member returns the zero member, which is no pod, for one that is on no node that there is.
func (w *Writer) member(object *v1.Pod) member {
	if object == nil {
		return member{}
	}
	node, _ := w.Nodes.Node(object.Spec.NodeName)
	if node == nil {
		return member{}
	}
	domain := zone.KeyOf(node.Labels)
	if w.Domain != nil {
		domain = w.Domain(node)
	}
	return member{cluster.RefOf(object), object, node, domain}
}

// members returns those that leave with the condemned pod, by name.
func (w *Writer) members(condemned member, why taints.Deadline) (all []member) {
	keys, since := slices.Clone(w.Group(condemned.object)), since(condemned, why)
	slices.SortFunc(keys, func(a, b cluster.PodKey) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range slices.Compact(keys) {
		object, _ := w.Pods.Pod(key)
		if m := w.member(object); key != condemned.ref.PodKey && w.remains(m.ref) && object.CreationTimestamp.Time.Before(since) {
			all = append(all, m)
		}
	}
	return all
}

// since is from when on a pod that was created replaces another one, as exact as the API's times.
func since(condemned member, why taints.Deadline) time.Time {
	if why.Taint == nil {
		for i := range condemned.node.Status.Conditions {
			if c := &condemned.node.Status.Conditions[i]; c.Type == v1.NodeReady && !c.LastTransitionTime.IsZero() {
				return c.LastTransitionTime.Time
			}
		}
	}
	return why.At.Truncate(time.Second)
}

// stays says whether the pod would be there for long if nobody evicted it.
func stays(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed && !mirror
}

// ask asks everybody about one of them, before the first leaves. The evictor has asked its Gate about the condemned pod.
func (w *Writer) ask(ctx context.Context, m member, condemned cluster.PodRef, why taints.Deadline) error {
	if m.ref != condemned {
		if err := w.held(m.ref); err != nil {
			return err
		}
		for _, act := range []gate.Act{{Do: gate.Harm, Domain: m.domain}, {Do: gate.Evict, Node: m.ref.Node, Domain: m.domain, Pod: m.object, Why: why}} {
			if err := w.may(ctx, m.ref, act); err != nil {
				return err
			}
		}
	}
	if w.Check == nil {
		return nil
	}
	if err := w.Check(ctx, m.ref); err != nil && !apierrors.IsNotFound(err) {
		return failed(m.ref, err)
	}
	return nil
}

// held refuses if the pod's node is held.
func (w *Writer) held(pod cluster.PodRef) error {
	if w.Held == nil {
		return nil
	}
	if reason := w.Held(pod.Node); reason != "" {
		return refused(pod, &gate.Refused{Reason: "Held", Err: fmt.Errorf("node %s is held: %s", pod.Node, reason)})
	}
	return nil
}

func (w *Writer) may(ctx context.Context, pod cluster.PodRef, act gate.Act) error {
	if w.Gate == nil {
		return nil
	}
	if err := w.Gate.May(ctx, act); err != nil {
		return refused(pod, err)
	}
	return nil
}

// leave evicts one after another.
func (w *Writer) leave(ctx context.Context, leaving []member, condemned cluster.PodRef, why taints.Deadline) error {
	for _, m := range leaving {
		if m.ref != condemned && !w.remains(m.ref) {
			continue
		}
		if err := w.mayStill(ctx, m, condemned, why); err != nil {
			return err
		}
		err := w.PodWriter.Evict(ctx, m.ref, why)
		if err == nil {
			w.note(m.ref)
		}
		if m.ref == condemned {
			return err // the evictor tells of it
		}
		if err = w.tellOf(m.ref, condemned, why, err); err != nil {
			return err
		}
	}
	return nil
}

// tellOf tells what became of a member, and returns an error if the others have to wait.
func (w *Writer) tellOf(member, condemned cluster.PodRef, why taints.Deadline, err error) error {
	switch {
	case err == nil:
		w.tell(tainteviction.Decision{
			Kind: tainteviction.PodEvicted, Pod: member, Taint: why.Taint, Toleration: why.Toleration, Tolerated: why.For, Deadline: why.At,
			Reason: "Together", Err: fmt.Errorf("goes with pod %s", condemned.PodKey),
		})
		return nil
	case apierrors.IsNotFound(err):
		return nil
	}
	err = failed(member, err)
	if no := (*gate.Refused)(nil); !errors.As(err, &no) && !apierrors.IsTooManyRequests(err) {
		w.tell(tainteviction.Decision{Kind: tainteviction.WriteFailed, Pod: member, Toleration: -1, Reason: "eviction", Err: err})
	}
	return err
}

// mayStill looks and asks once more, because others have left meanwhile, which takes time.
func (w *Writer) mayStill(ctx context.Context, m member, condemned cluster.PodRef, why taints.Deadline) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !w.remains(condemned) || !w.fails(condemned.Node, why.Taint) {
		return &gate.Refused{Reason: "Together", Err: errors.New("what made its group leave is gone")}
	}
	for _, act := range []gate.Act{{Do: gate.Harm, Domain: m.domain}, {Do: gate.Write}} {
		if err := w.may(ctx, m.ref, act); err != nil {
			return err
		}
	}
	if m.ref == condemned && !ours(why.Taint) {
		return nil // the taints of others evict from held nodes, too
	}
	return w.held(m.ref)
}

// remains says whether the store shows that the pod stays, and it was not evicted.
func (w *Writer) remains(ref cluster.PodRef) bool {
	object, _ := w.Pods.Pod(ref.PodKey)
	return ref.Shows(object) && stays(object) && !w.hasLeft(ref)
}

// fails says whether what condemned a pod is still there: the taint, and, unless it is somebody else's, that the node is not Ready.
func (w *Writer) fails(name string, taint *v1.Taint) bool {
	node, _ := w.Nodes.Node(name)
	switch {
	case node == nil, ours(taint) && slices.ContainsFunc(node.Status.Conditions, isReady):
		return false
	}
	return taint == nil || slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(taint) })
}

// ours says whether the evictor itself condemned the pod: by its taint or, without taints, nil, because the node is emptied.
func ours(taint *v1.Taint) bool { return taint == nil || taints.OwnNoExecute(taint) }

func isReady(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue }

// refused is a refusal on behalf of one of a group.
func refused(pod cluster.PodRef, err error) error {
	no, by := &gate.Refused{Reason: "Refused"}, (*gate.Refused)(nil)
	if errors.As(err, &by) && by != nil {
		no.Reason, no.Again, no.Pace = by.Reason, by.Again, by.Pace
	}
	no.Err = fmt.Errorf("pod %s of its group: %w", pod.PodKey, err)
	return no
}

// failed is an error on behalf of one of a group. It wraps a refusal if it is one.
func failed(pod cluster.PodRef, err error) error {
	return fmt.Errorf("pod %s of its group: %w", pod.PodKey, err)
}

func (w *Writer) tell(d tainteviction.Decision) {
	if w.Observer == nil {
		return
	}
	clk := w.Clock
	if clk == nil {
		clk = clock.RealClock{}
	}
	d.Time = clk.Now()
	if d.Taint != nil {
		d.Taint = d.Taint.DeepCopy()
	}
	w.Observer(d)
}
