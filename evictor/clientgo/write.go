package clientgo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/taints"
)

// FinishWithin is how long a write in flight may still take to finish when the context of Run ends; no other begins.
// "Leadership" in the package comment says what the lease duration must be.
const FinishWithin = 4 * time.Second

// writeTimeout is how long a write may take, including the wait for the client's own rate limit.
const writeTimeout = 30 * time.Second

// finishing returns the context of one write, which outlives ctx by at most FinishWithin. If ctx has already ended, so has
// the returned context: otherwise each pod of a node, marked one after another, would get those seconds anew.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(FinishWithin, cancel)
		context.AfterFunc(write, func() { timer.Stop() })
	})
	return write, func() {
		stop()
		cancel()
	}
}

// patchMeta is the metadata of a patch: its preconditions, and labels.
type patchMeta struct {
	UID             types.UID         `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
}

// conditionsPatch is the body of a patch that writes conditions.
func conditionsPatch[C any](meta patchMeta, conditions ...C) ([]byte, error) {
	type status struct {
		Conditions []C `json:"conditions"`
	}
	return json.Marshal(struct {
		Metadata patchMeta `json:"metadata"`
		Status   status    `json:"status"`
	}{meta, status{conditions}})
}

// failed wraps err with what was tried. If a patch carries the UID of another object, the API server takes that as an
// attempt to change the UID and answers Invalid; for the evictor this is a Conflict.
func failed(what, resource, name string, err error) error {
	if err == nil {
		return nil
	}
	if cause, _ := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); apierrors.IsInvalid(err) && cause.Field == "metadata.uid" {
		err = apierrors.NewConflict(v1.Resource(resource), name, err)
	}
	return fmt.Errorf("clientgo: %s %s: %w", what, name, err)
}

// nodeWriter implements nodelifecycle.NodeWriter.
type nodeWriter struct {
	client kubernetes.Interface
	nodes  *nodeStore
	kept   func(*v1.Node) *v1.Node
	clock  clock.PassiveClock
	writes *writes
}

// UpdateConditions implements nodelifecycle.NodeWriter.
func (w *nodeWriter) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	body, err := conditionsPatch(patchMeta{UID: node.UID, ResourceVersion: node.ResourceVersion}, conditions...)
	if err != nil {
		return fmt.Errorf("clientgo: conditions of node %s: %w", node.Name, err)
	}
	return w.patch(ctx, "patching the conditions of node", node, types.StrategicMergePatchType, body, "status")
}

// UpdateTaints implements nodelifecycle.NodeWriter.
func (w *nodeWriter) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	have, err := w.wholeTaints(ctx, node)
	if err != nil {
		return err
	}
	body, err := change.Patch(have, node.UID, node.ResourceVersion, w.clock.Now())
	if err != nil {
		return err
	}
	return w.patch(ctx, "patching the taints of node", node, types.MergePatchType, body)
}

// UpdateLabels implements nodelifecycle.NodeWriter. A merge patch changes only the labels it names, so no resourceVersion is
// needed.
func (w *nodeWriter) UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error {
	body, err := json.Marshal(map[string]patchMeta{"metadata": {UID: node.UID, Labels: labels}})
	if err != nil {
		return fmt.Errorf("clientgo: labels of node %s: %w", node.Name, err)
	}
	return w.patch(ctx, "patching the labels of node", node, types.MergePatchType, body)
}

func (w *nodeWriter) patch(ctx context.Context, what string, node *v1.Node, kind types.PatchType, body []byte, subresource ...string) error {
	ctx, cancel := finishing(ctx)
	defer cancel()
	began := w.clock.Now()
	written, err := w.client.CoreV1().Nodes().Patch(ctx, node.Name, kind, body, metav1.PatchOptions{}, subresource...)
	w.writes.note(began, err)
	if err != nil {
		return failed(what, "nodes", node.Name, err)
	}
	w.nodes.wrote(w.kept(written))
	return nil
}
