// Package clientgotest helps to test programs in virtual time. Its fake clientset behaves enough like an API server for
// a clientgo.Cluster, in a bubble of testing/synctest (Go 1.25).
//
//	synctest.Test(t, func(t *testing.T) {
//		client := clientgotest.NewClientset(nodes…, pods…)
//		… // run the program on it
//		clientgotest.Renew(ctx, client, "a-0", "a-1") // what kubelets do every ten seconds
//	})
//
// A bubble ends only when every goroutine in it has ended: end whatever you run, and wait for it. If the test makes
// requests fail, first set utilruntime.ErrorHandlers to nil, in TestMain: the last of client-go's handlers sleeps on a
// clock that all bubbles share.
package clientgotest

import (
	"context"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
)

// NewClientset returns client-go's fake clientset with these objects. Like an API server, it gives each write a new
// resourceVersion, and refuses, with Conflict, a write that was made from an older version. Without versions, nothing
// tells which of two states is later, and a program would see its own writes appear and disappear. NewClientset panics
// if the clientset does not know the kind of an object.
func NewClientset(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset()
	v := &versioned{ObjectTracker: client.Tracker()}
	for _, obj := range objects {
		obj = obj.DeepCopyObject()
		if err := v.next(obj); err != nil {
			panic(err) //nolint:forbidigo // as client-go's own does: it is no object
		}
		if err := v.ObjectTracker.Add(obj); err != nil {
			panic(err) //nolint:forbidigo // likewise: its type is not known
		}
	}
	client.PrependReactor("*", "*", testing.ObjectReaction(v))
	return client
}

// versioned gives each write a new resourceVersion.
type versioned struct {
	testing.ObjectTracker

	mu   sync.Mutex // held during a write: the version read must be the one replaced
	last uint64     // guarded by mu
}

// next gives the object the next version; v.mu is held, or v is not shared yet.
func (v *versioned) next(obj runtime.Object) error {
	about, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	v.last++
	about.SetResourceVersion(strconv.FormatUint(v.last, 10))
	return nil
}

// write writes the object as the next version, unless it was made from another version than the current one.
func (v *versioned) write(resource schema.GroupVersionResource, obj runtime.Object, namespace string, write func() error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	about, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if from := about.GetResourceVersion(); from != "" {
		if stored, err := v.Get(resource, namespace, about.GetName()); err == nil {
			if is, err := meta.Accessor(stored); err == nil && is.GetResourceVersion() != from {
				return apierrors.NewConflict(resource.GroupResource(), about.GetName(), nil)
			}
		}
	}
	if err := v.next(obj); err != nil {
		return err
	}
	return write()
}

// Create implements testing.ObjectTracker.
func (v *versioned) Create(resource schema.GroupVersionResource, obj runtime.Object, namespace string, o ...metav1.CreateOptions) error {
	return v.write(resource, obj, namespace, func() error { return v.ObjectTracker.Create(resource, obj, namespace, o...) })
}

// Update implements testing.ObjectTracker.
func (v *versioned) Update(resource schema.GroupVersionResource, obj runtime.Object, namespace string, o ...metav1.UpdateOptions) error {
	return v.write(resource, obj, namespace, func() error { return v.ObjectTracker.Update(resource, obj, namespace, o...) })
}

// Patch implements testing.ObjectTracker.
func (v *versioned) Patch(resource schema.GroupVersionResource, obj runtime.Object, namespace string, o ...metav1.PatchOptions) error {
	return v.write(resource, obj, namespace, func() error { return v.ObjectTracker.Patch(resource, obj, namespace, o...) })
}

// Renew renews the leases of these nodes, as their kubelets do, and creates those that do not exist. It returns the first
// error.
func Renew(ctx context.Context, client kubernetes.Interface, nodes ...string) error {
	leases := client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	for _, name := range nodes {
		now := metav1.NowMicro()
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1.NamespaceNodeLease, Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
		_, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
