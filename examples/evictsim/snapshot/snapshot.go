package snapshot

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// ClusterRole is what Write needs, as a manifest.
//
//go:embed rbac.yaml
var ClusterRole string

// Count is how many objects were written.
type Count struct{ Nodes, Budgets, Volumes, Claims, Jobs, Pods int }

// PageSize is how many objects are listed at once.
const PageSize = 500

// Write lists the cluster's nodes, PodDisruptionBudgets, PersistentVolumes, PersistentVolumeClaims, Jobs and pods, in this
// order, and writes what scenarios read of them. The cluster changes between the lists: a pod on a node that was added meanwhile is written, and readers
// count it as bound to no node.
func Write(ctx context.Context, client kubernetes.Interface, w io.Writer) (count Count, err error) {
	f := file{w: bufio.NewWriter(w)}
	f.text(`{"apiVersion":"v1","kind":"List","items":[`)
	err = pages(ctx, "nodes", client.CoreV1().Nodes().List, func(list *v1.NodeList) {
		for i := range list.Items {
			f.object(node(&list.Items[i]))
		}
		count.Nodes += len(list.Items)
	})
	if err == nil {
		err = pages(ctx, "poddisruptionbudgets", client.PolicyV1().PodDisruptionBudgets("").List, func(list *policyv1.PodDisruptionBudgetList) {
			for i := range list.Items {
				f.object(budget(&list.Items[i]))
			}
			count.Budgets += len(list.Items)
		})
	}
	if err == nil {
		err = pages(ctx, "persistentvolumes", client.CoreV1().PersistentVolumes().List, func(list *v1.PersistentVolumeList) {
			for i := range list.Items {
				f.object(volume(&list.Items[i]))
			}
			count.Volumes += len(list.Items)
		})
	}
	if err == nil {
		err = pages(ctx, "persistentvolumeclaims", client.CoreV1().PersistentVolumeClaims("").List, func(list *v1.PersistentVolumeClaimList) {
			for i := range list.Items {
				f.object(claim(&list.Items[i]))
			}
			count.Claims += len(list.Items)
		})
	}
	if err == nil {
		err = pages(ctx, "jobs", client.BatchV1().Jobs("").List, func(list *batchv1.JobList) {
			for i := range list.Items {
				f.object(job(&list.Items[i]))
			}
			count.Jobs += len(list.Items)
		})
	}
	if err == nil {
		err = pages(ctx, "pods", client.CoreV1().Pods("").List, func(list *v1.PodList) {
			for i := range list.Items {
				f.object(pod(&list.Items[i]))
			}
			count.Pods += len(list.Items)
		})
	}
	if err != nil {
		return count, err
	}
	f.text("\n]}\n")
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return count, f.err
}

// pages lists page by page. If that takes longer than the API server keeps a revision, the remaining pages are of a
// later one.
func pages[L interface {
	runtime.Object
	metav1.ListInterface
}](ctx context.Context, what string, list func(context.Context, metav1.ListOptions) (L, error), visit func(L)) error {
	options := metav1.ListOptions{Limit: PageSize}
	for {
		page, err := list(ctx, options)
		if later := laterRevision(err); later != "" && later != options.Continue {
			options.Continue = later
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", what, err)
		}
		visit(page)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// laterRevision returns the token that an API server offers in place of an expired one, "" if there is none.
func laterRevision(err error) string {
	if status, ok := err.(apierrors.APIStatus); ok && apierrors.IsResourceExpired(err) {
		return status.Status().ListMeta.Continue
	}
	return ""
}

// file writes objects one after the other, and keeps the first error.
type file struct {
	w    *bufio.Writer
	some bool
	err  error
}

func (f *file) text(s string) {
	if f.err == nil {
		_, f.err = f.w.WriteString(s)
	}
}

func (f *file) object(o any) {
	text, err := json.Marshal(o)
	if f.err == nil {
		f.err = err
	}
	if f.some {
		f.text(",")
	}
	f.some = true
	f.text("\n")
	f.text(string(text))
}
