package snapshot

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
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
type Count struct{ Nodes, Budgets, Volumes, Claims, Jobs, Sets, Pods int }

// PageSize is how many objects are listed at once.
const PageSize = 500

// Write lists the cluster's nodes, PodDisruptionBudgets, PersistentVolumes, PersistentVolumeClaims, Jobs, StatefulSets and
// pods, in this order, and writes what scenarios read of them. The cluster may change between the lists: Write also writes
// a pod on a node that was added meanwhile, and readers count it as bound to no node.
func Write(ctx context.Context, client kubernetes.Interface, w io.Writer) (count Count, err error) {
	f := file{w: bufio.NewWriter(w)}
	f.text(`{"apiVersion":"v1","kind":"List","items":[`)
	core := client.CoreV1()
	for _, list := range []func() error{
		func() error {
			return pages(ctx, "nodes", core.Nodes().List, func(l *v1.NodeList) { objects(&f, l.Items, node, &count.Nodes) })
		},
		func() error {
			return pages(ctx, "poddisruptionbudgets", client.PolicyV1().PodDisruptionBudgets("").List, func(l *policyv1.PodDisruptionBudgetList) {
				objects(&f, l.Items, budget, &count.Budgets)
			})
		},
		func() error {
			return pages(ctx, "persistentvolumes", core.PersistentVolumes().List, func(l *v1.PersistentVolumeList) { objects(&f, l.Items, volume, &count.Volumes) })
		},
		func() error {
			return pages(ctx, "persistentvolumeclaims", core.PersistentVolumeClaims("").List, func(l *v1.PersistentVolumeClaimList) {
				objects(&f, l.Items, claim, &count.Claims)
			})
		},
		func() error {
			return pages(ctx, "jobs", client.BatchV1().Jobs("").List, func(l *batchv1.JobList) { objects(&f, l.Items, job, &count.Jobs) })
		},
		func() error {
			return pages(ctx, "statefulsets", client.AppsV1().StatefulSets("").List, func(l *appsv1.StatefulSetList) { objects(&f, l.Items, set, &count.Sets) })
		},
		func() error {
			return pages(ctx, "pods", core.Pods("").List, func(l *v1.PodList) { objects(&f, l.Items, pod, &count.Pods) })
		},
	} {
		if err := list(); err != nil {
			return count, err
		}
	}
	f.text("\n]}\n")
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return count, f.err
}

// objects writes what is kept of a page's items.
func objects[T any](f *file, items []T, keep func(*T) *T, count *int) {
	for i := range items {
		f.object(keep(&items[i]))
	}
	*count += len(items)
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
