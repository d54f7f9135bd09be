package controllermanager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	podstorage "k8s.io/kubernetes/pkg/registry/core/pod/storage"
)

// evictionAPI is the API server's eviction subresource over a storage of the one pod that a call is about.
type evictionAPI struct {
	turn chan struct{} // of the call that is made: it sleeps after a conflict, and who waits for a mutex stops time
	rest *podstorage.EvictionREST
	one  *onePod
}

func newEvictionAPI(client kubernetes.Interface) (*evictionAPI, error) {
	one := &onePod{}
	options := generic.RESTOptions{
		StorageConfig: &storagebackend.ConfigForResource{}, ResourcePrefix: "pods", DeleteCollectionWorkers: 1,
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
			storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return one, func() {}, nil
		},
	}
	pods, err := podstorage.NewStorage(options, nil, http.DefaultTransport, client.PolicyV1(), nil)
	if err != nil {
		return nil, err
	}
	return &evictionAPI{turn: make(chan struct{}, 1), rest: pods.Eviction, one: one}, nil
}

// asks answers whether the pod may go. It changes the budget's status, and no pod.
func (a *evictionAPI) asks(pod *v1.Pod) error {
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	pod.ResourceVersion = "1"
	legacyscheme.Scheme.Default(pod)
	a.one.pod = &core.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, a.one.pod, nil); err != nil {
		return err
	}
	ctx := request.WithRequestInfo(request.WithNamespace(context.Background(), pod.Namespace), &request.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIVersion: "v1", Resource: "pods", Subresource: "eviction", Namespace: pod.Namespace, Name: pod.Name,
	})
	e := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: &metav1.DeleteOptions{}}
	out, err := a.rest.Create(ctx, pod.Name, e, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if status, ok := out.(*metav1.Status); err == nil && ok && status.Status != metav1.StatusSuccess {
		return fmt.Errorf("%d: %s", status.Code, status.Message)
	}
	return err
}

// onePod is a storage of one pod.
type onePod struct {
	storage.Interface
	pod *core.Pod
}

func (o *onePod) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (o *onePod) Get(_ context.Context, _ string, _ storage.GetOptions, into runtime.Object) error {
	return o.copy(into)
}

func (o *onePod) copy(into runtime.Object) error {
	pod, ok := into.(*core.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", into)
	}
	o.pod.DeepCopyInto(pod)
	return nil
}

func (o *onePod) GuaranteedUpdate(_ context.Context, key string, into runtime.Object, _ bool, p *storage.Preconditions, try storage.UpdateFunc, _ runtime.Object) error {
	if p != nil {
		if err := p.Check(key, o.pod); err != nil {
			return err
		}
	}
	version, err := strconv.ParseUint(o.pod.ResourceVersion, 10, 64)
	if err != nil {
		return err
	}
	out, _, err := try(o.pod.DeepCopy(), storage.ResponseMeta{ResourceVersion: version})
	if err != nil {
		return err
	}
	changed, ok := out.DeepCopyObject().(*core.Pod)
	if !ok {
		return errors.New("the update made no pod")
	}
	o.pod = changed
	o.pod.ResourceVersion = strconv.FormatUint(version+1, 10)
	return o.copy(into)
}

func (o *onePod) Delete(_ context.Context, _ string, into runtime.Object, _ *storage.Preconditions, _ storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	return o.copy(into)
}

func (o *onePod) ReadinessCheck() error { return nil }

// evict asks whether a pod may go, and deletes it. It is in no reaction: a clientset has a lock, with which nobody may sleep.
func (s *store) evict(who string, e *policyv1.Eviction) error {
	key := keyOf(e.Namespace, e.Name)
	pod, err := s.evictable(key)
	if err == nil {
		err = s.asks(pod)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod = s.pod(key); pod == nil || pod.DeletionTimestamp != nil {
		return nil
	}
	// A pod terminates before it is gone, if only for a moment. Else the disruption controller might see nothing but another pod
	// of that name, and wait two minutes for its deletion.
	s.terminates(pod, s.stamp())
	s.mu.Unlock()
	sleep(time.Microsecond)
	s.mu.Lock()
	s.mu.Wrote()
	s.remove(who, "pods", key, nil)
	return nil
}

func (s *store) evictable(key string) (*v1.Pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(); err != nil {
		return nil, err
	}
	pod := s.pod(key)
	if pod == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key)
	}
	return pod.DeepCopy(), nil
}
