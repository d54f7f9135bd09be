package clientgo

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
)

// disruptionMessage is that of the condition DisruptionTarget that upstream writes to a pod before it deletes the pod because of
// taints.
const disruptionMessage = "Taint manager: deleting due to NoExecute taint"

// podWriter implements nodelifecycle.PodWriter.
type podWriter struct {
	client      kubernetes.Interface
	evictions   kubernetes.Interface
	pods        *podStore
	clock       clock.PassiveClock
	evictionAPI bool
	writes      *writes
	budgets     *budgets
	awake       func() error // says why the cluster cannot be seen
}

// Evict implements nodelifecycle.PodWriter. An eviction that fell due while this process was suspended comes here before
// anybody else has noticed; unlike the writes of nodes, no resourceVersion holds it back.
func (w *podWriter) Evict(ctx context.Context, ref evictor.PodRef, why taints.Deadline) error {
	if err := w.awake(); err != nil {
		return &gate.Refused{Reason: "Blind", Err: err}
	}
	if w.evictionAPI {
		return w.askFor(ctx, "evicting pod", ref, nil)
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	mark, generation := false, int64(0)
	if why.Taint != nil {
		p, ok := w.pods.Pod(ref.PodKey)
		if !ok || p.UID != ref.UID {
			return failed("deleting pod", "pods", ref.String(), apierrors.NewNotFound(v1.Resource("pods"), ref.Name))
		}
		mark, generation = !slim.Disrupted(p), p.Generation
	}
	began := w.clock.Now()
	err := w.remove(ctx, ref, mark, generation)
	w.writes.note(began, err)
	return err
}

// CheckEviction returns the error that evicting the pod would return now, and evicts nothing: it asks the API server for a
// dry run. Without Options.EvictionAPI nobody is asked, and it returns nil. It is meant as the Check of a together.Writer.
func (c *Cluster) CheckEviction(ctx context.Context, pod evictor.PodRef) error {
	if !c.opts.EvictionAPI {
		return nil
	}
	return c.podWriter().askFor(ctx, "checking the eviction of pod", pod, []string{metav1.DryRunAll})
}

// askFor creates an Eviction, unless it is known that the pod's disruption budget refuses.
func (w *podWriter) askFor(ctx context.Context, what string, ref evictor.PodRef, dryRun []string) error {
	ctx, cancel := finishing(ctx)
	defer cancel()
	of := workload{uid: ref.UID}
	if p, ok := w.pods.Pod(ref.PodKey); ok && p.UID == ref.UID {
		of = workloadOf(p)
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ref.UID}, DryRun: dryRun}
	return w.budgets.ask(of, ref.Namespace, func() error {
		began := w.clock.Now()
		err := w.evict(ctx, ref, &options)
		w.writes.note(began, err)
		return failed(what, "pods", ref.String(), err)
	})
}

// remove deletes the pod; with mark, it writes the condition first, for that generation of the pod.
func (w *podWriter) remove(ctx context.Context, ref evictor.PodRef, mark bool, generation int64) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ref.UID}}
	if mark {
		condition := v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: slim.DisruptionReason, Message: disruptionMessage}
		if err := patchCondition(ctx, w.evictions, w.clock.Now(), ref, "", generation, condition); err != nil {
			return failed("patching the condition DisruptionTarget of pod", "pods", ref.String(), err)
		}
	}
	return failed("deleting pod", "pods", ref.String(), w.evictions.CoreV1().Pods(ref.Namespace).Delete(ctx, ref.Name, options))
}

// evict creates an Eviction, without the client's own retries: after a 429 a client would wait and retry up to ten times,
// and hold one of the evictor's workers. The evictor retries without holding a worker.
func (w *podWriter) evict(ctx context.Context, ref evictor.PodRef, options *metav1.DeleteOptions) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, DeleteOptions: options}
	if c, ok := w.evictions.CoreV1().RESTClient().(*rest.RESTClient); ok && c != nil {
		return c.Post().MaxRetries(0).Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).SubResource("eviction").
			Body(eviction).Do(ctx).Error()
	}
	return w.evictions.CoreV1().Pods(eviction.Namespace).EvictV1(ctx, eviction) // a fake clientset has no REST client
}

// MarkNotReady implements nodelifecycle.PodWriter. The resourceVersion keeps it from overwriting what a kubelet has just
// reported.
func (w *podWriter) MarkNotReady(ctx context.Context, ref evictor.PodRef) error {
	ctx, cancel := finishing(ctx)
	defer cancel()
	p, ok := w.pods.Pod(ref.PodKey)
	if !ok || p.UID != ref.UID {
		return failed("marking pod", "pods", ref.String(), apierrors.NewNotFound(v1.Resource("pods"), ref.Name))
	}
	began := w.clock.Now()
	err := patchCondition(ctx, w.client, began, ref, p.ResourceVersion, 0, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse})
	w.writes.note(began, err)
	return failed("patching the condition Ready of pod", "pods", ref.String(), err)
}

// patchCondition writes the fields of c that are set; its other fields and other conditions stay as they are.
func patchCondition(ctx context.Context, client kubernetes.Interface, now time.Time, ref evictor.PodRef, version string, generation int64, c v1.PodCondition) error {
	type condition struct {
		Type               v1.PodConditionType `json:"type"`
		ObservedGeneration int64               `json:"observedGeneration,omitempty"` // k8s.io/api has it since 0.33
		Status             v1.ConditionStatus  `json:"status"`
		LastTransitionTime metav1.Time         `json:"lastTransitionTime"`
		Reason             string              `json:"reason,omitempty"`
		Message            string              `json:"message,omitempty"`
	}
	body, err := conditionsPatch(patchMeta{UID: ref.UID, ResourceVersion: version}, condition{c.Type, generation, c.Status, metav1.NewTime(now), c.Reason, c.Message})
	if err != nil {
		return fmt.Errorf("condition %s: %w", c.Type, err)
	}
	_, err = client.CoreV1().Pods(ref.Namespace).Patch(ctx, ref.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}
