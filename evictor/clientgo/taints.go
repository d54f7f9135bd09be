package clientgo

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
)

// wholeTaints returns all taints of the node, in the version that was read. If not all are kept they are read again,
// because the list is written as a whole.
func (w *nodeWriter) wholeTaints(ctx context.Context, node *v1.Node) ([]v1.Taint, error) {
	if !slim.LacksTaints(node) {
		return node.Spec.Taints, nil
	}
	ctx, cancel := finishing(ctx)
	defer cancel()
	// A list with one item, because the account may list nodes but need not be allowed to get one.
	list, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + node.Name})
	if err != nil {
		return nil, fmt.Errorf("clientgo: reading the taints of node %s: %w", node.Name, err)
	}
	if len(list.Items) != 1 || list.Items[0].UID != node.UID || list.Items[0].ResourceVersion != node.ResourceVersion {
		return nil, apierrors.NewConflict(v1.Resource("nodes"), node.Name, fmt.Errorf("it has changed since resourceVersion %s", node.ResourceVersion))
	}
	return list.Items[0].Spec.Taints, nil
}
