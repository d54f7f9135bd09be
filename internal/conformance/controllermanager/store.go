package controllermanager

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/examples/frontend"
)

// store is as much of an API server as controllers need: objects of every kind of client-go's scheme, with versions that grow
// over all objects, watches from a version on, conflicts, status subresources, finalizers and generated names. What the
// deletion of a pod does is the World's to say.
type store struct {
	mu      *frontend.Clock // its lock is that of the World, too
	version uint64
	serial  int
	kinds   map[string]*kind // by resource

	reach   func() error                                    // fails while the API is down
	deletes func(who, key string, grace *int64) (done bool) // asks the World to delete a pod
	asks    func(pod *v1.Pod) error                         // may a pod be evicted? Called with nothing locked
	created func(pod *v1.Pod, named bool) error             // named by the client
	lost    func(pod *v1.Pod)                               // its deletion begins
	failing func(pod *v1.Pod)                               // somebody says that it has finished
	stored  func(object runtime.Object)

	Disrupts bool // whoever deletes a pod says so in a condition, as those who evict do
}

// kind is all objects of a resource, and what ever happened to them.
type kind struct {
	objects map[string]runtime.Object // by namespace/name, or name
	past    []watch.Event             // the last of what happened
	dropped int                       // how much happened before that
	news    *sync.Cond
}

// remembered is how much of what happened a watch may be behind.
const remembered = 1 << 16

// happens notes an event for the watches.
func (k *kind) happens(event watch.Event) {
	if len(k.past) >= 2*remembered {
		k.dropped += remembered
		k.past = append(make([]watch.Event, 0, 2*remembered), k.past[remembered:]...)
	}
	k.past = append(k.past, event)
	k.news.Broadcast()
}

func newStore(c *frontend.Clock) *store { return &store{mu: c, kinds: make(map[string]*kind)} }

func (s *store) now() time.Time { return s.mu.Now() }

func (s *store) kind(resource string) *kind {
	k := s.kinds[resource]
	if k == nil {
		k = &kind{objects: make(map[string]runtime.Object), news: sync.NewCond(s.mu)}
		s.kinds[resource] = k
	}
	return k
}

func (s *store) pod(key string) *v1.Pod {
	pod, _ := s.kind("pods").objects[key].(*v1.Pod)
	return pod
}

// client returns somebody's clientset, for as long as the context lasts. Nobody may use one within a reaction of the same one,
// because it is locked then.
func (s *store) client(ctx context.Context, who string) *fake.Clientset {
	set := fake.NewSimpleClientset()
	set.ReactionChain, set.WatchReactionChain = nil, nil
	set.AddReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) { return s.react(who, a) })
	set.AddWatchReactor("*", s.watch)
	set.Resources = []*metav1.APIResourceList{
		{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job"}}},
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"}}},
	}
	go func() { // it remembers every request
		for ctx.Err() == nil {
			sleep(time.Minute)
			set.ClearActions()
		}
	}()
	return set
}

func metaOf(object runtime.Object) metav1.Object {
	m, err := meta.Accessor(object)
	if err != nil {
		panic(err) //nolint:forbidigo // it has metadata
	}
	return m
}

func keyOf(namespace, name string) string {
	return strings.TrimPrefix(namespace+"/"+name, "/")
}

func resourceOf(o runtime.Object) string {
	return strings.ToLower(reflect.TypeOf(o).Elem().Name()) + "s"
}

func (s *store) add(object runtime.Object) {
	m := metaOf(object)
	s.put(resourceOf(object), keyOf(m.GetNamespace(), m.GetName()), object.DeepCopyObject())
}

// put stores an object and tells the watches; nil removes it.
func (s *store) put(resource, key string, object runtime.Object) {
	k := s.kind(resource)
	had := k.objects[key]
	event := watch.Event{Type: watch.Modified, Object: object}
	switch {
	case object == nil && had == nil:
		return
	case object == nil:
		delete(k.objects, key)
		event = watch.Event{Type: watch.Deleted, Object: had.DeepCopyObject()}
	case had == nil:
		event.Type = watch.Added
		fallthrough
	default:
		k.objects[key] = object
	}
	if pod, ok := object.(*v1.Pod); ok && s.Disrupts && pod.DeletionTimestamp != nil {
		s.disrupted(pod)
	}
	if object != nil {
		s.stored(object)
	}
	s.version++
	metaOf(event.Object).SetResourceVersion(strconv.FormatUint(s.version, 10))
	k.happens(event)
}

// disrupted adds the condition that those who evict write.
func (s *store) disrupted(pod *v1.Pod) {
	is := func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget }
	if !slices.ContainsFunc(pod.Status.Conditions, is) {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, LastTransitionTime: s.stamp()})
	}
}

func (s *store) react(who string, action clienttesting.Action) (bool, runtime.Object, error) {
	resource := action.GetResource()
	if resource.Resource == "resource" || resource.Resource == "group" { // discovery
		return false, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(); err != nil {
		return true, nil, err
	}
	object, err := s.answer(who, action, resource)
	if verb := action.GetVerb(); err == nil && resource.Resource == "pods" && (verb == "create" || verb == "delete") {
		s.mu.Wrote()
	}
	return true, object, err
}

func (s *store) answer(who string, action clienttesting.Action, of schema.GroupVersionResource) (runtime.Object, error) {
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		return s.create(of, a)
	case clienttesting.ListActionImpl:
		return s.list(of.Resource, a)
	case clienttesting.UpdateActionImpl:
		m := metaOf(a.Object)
		key := keyOf(m.GetNamespace(), m.GetName())
		old, err := s.find(of, key)
		if err == nil && m.GetResourceVersion() != "" && m.GetResourceVersion() != metaOf(old).GetResourceVersion() {
			err = apierrors.NewConflict(of.GroupResource(), key, fmt.Errorf("it has been changed"))
		}
		if err != nil {
			return nil, err
		}
		return s.replace(who, of.Resource, key, a.GetSubresource(), old, a.Object.DeepCopyObject())
	case clienttesting.PatchActionImpl:
		key := keyOf(a.Namespace, a.Name)
		old, err := s.find(of, key)
		if err != nil {
			return nil, err
		}
		patched, err := patch(old, a)
		if err == nil && metaOf(patched).GetUID() != metaOf(old).GetUID() {
			err = apierrors.NewConflict(of.GroupResource(), key, fmt.Errorf("another UID"))
		}
		if err != nil {
			return nil, err
		}
		return s.replace(who, of.Resource, key, a.GetSubresource(), old, patched)
	case clienttesting.DeleteActionImpl:
		key := keyOf(a.Namespace, a.Name)
		old, err := s.find(of, key)
		if p := a.DeleteOptions.Preconditions; err == nil && p != nil && p.UID != nil && *p.UID != metaOf(old).GetUID() {
			err = apierrors.NewConflict(of.GroupResource(), key, fmt.Errorf("another UID"))
		}
		if err != nil {
			return nil, err
		}
		s.remove(who, of.Resource, key, a.DeleteOptions.GracePeriodSeconds)
		return nil, nil
	case clienttesting.GetActionImpl:
		object, err := s.find(of, keyOf(a.Namespace, a.Name))
		if err != nil {
			return nil, err
		}
		return object.DeepCopyObject(), nil
	}
	return nil, fmt.Errorf("this store cannot %s %s", action.GetVerb(), of.Resource)
}

func (s *store) find(of schema.GroupVersionResource, key string) (runtime.Object, error) {
	if object, ok := s.kind(of.Resource).objects[key]; ok {
		return object, nil
	}
	return nil, apierrors.NewNotFound(of.GroupResource(), key)
}

func (s *store) create(of schema.GroupVersionResource, a clienttesting.CreateActionImpl) (runtime.Object, error) {
	object := a.Object.DeepCopyObject()
	if of.Resource == "events" {
		return object, nil
	}
	m := metaOf(object)
	s.serial++
	m.SetNamespace(cmp.Or(m.GetNamespace(), a.Namespace))
	named := m.GetName() != ""
	m.SetName(cmp.Or(m.GetName(), fmt.Sprintf("%s%05d", m.GetGenerateName(), s.serial)))
	if s.kind(of.Resource).objects[keyOf(m.GetNamespace(), m.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(of.GroupResource(), m.GetName())
	}
	m.SetUID(types.UID(fmt.Sprintf("uid-%d", s.serial)))
	m.SetCreationTimestamp(s.stamp())
	m.SetGeneration(1)
	if pod, ok := object.(*v1.Pod); ok {
		pod.Status.Phase = v1.PodPending
		if err := s.created(pod, named); err != nil {
			return nil, err
		}
	}
	key := keyOf(m.GetNamespace(), m.GetName())
	s.put(of.Resource, key, object)
	return object.DeepCopyObject(), nil
}

func patch(old runtime.Object, a clienttesting.PatchActionImpl) (runtime.Object, error) {
	if a.PatchType != types.StrategicMergePatchType {
		return nil, fmt.Errorf("this store knows no patch of type %s", a.PatchType)
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	fresh, _ := reflect.New(reflect.TypeOf(old).Elem()).Interface().(runtime.Object)
	after, err := strategicpatch.StrategicMergePatch(before, a.Patch, fresh)
	if err != nil {
		return nil, err
	}
	return fresh, json.Unmarshal(after, fresh)
}

// replace writes a changed object without its status, or only that. The last finalizer of a deleted object takes it away.
func (s *store) replace(who, resource, key, subresource string, old, object runtime.Object) (runtime.Object, error) {
	status := func(of runtime.Object) reflect.Value { return reflect.ValueOf(of).Elem().FieldByName("Status") }
	if subresource == "status" {
		written := status(object)
		object = old.DeepCopyObject()
		status(object).Set(written)
	} else if status(object).IsValid() {
		status(object).Set(status(old))
	}
	m := metaOf(object)
	m.SetDeletionTimestamp(metaOf(old).GetDeletionTimestamp())
	if reflect.DeepEqual(old, object) {
		return object.DeepCopyObject(), nil
	}
	if pod, ok := object.(*v1.Pod); ok && finished(pod) && !finished(s.pod(key)) {
		s.failing(pod)
	}
	s.put(resource, key, object)
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 && len(metaOf(old).GetFinalizers()) > 0 {
		s.remove(who, resource, key, nil)
	}
	return object.DeepCopyObject(), nil
}

func (s *store) remove(who, resource, key string, grace *int64) {
	if resource != "pods" || !s.deletes(who, key, grace) {
		s.vanish(resource, key)
	}
}

// terminates marks a pod that is being evicted.
func (s *store) terminates(pod *v1.Pod, since metav1.Time) {
	s.lost(pod)
	marked := pod.DeepCopy()
	marked.DeletionTimestamp = &since
	s.disrupted(marked)
	s.put("pods", keyOf(pod.Namespace, pod.Name), marked)
}

// vanish takes an object away. One that has finalizers stays until they are gone; a pod of these has been ended by its kubelet, or
// by PodGC if its node does not exist, which leaves it Ready.
func (s *store) vanish(resource, key string) {
	old := s.kind(resource).objects[key]
	if old == nil {
		return
	}
	if len(metaOf(old).GetFinalizers()) == 0 {
		s.put(resource, key, nil)
		return
	}
	object := old.DeepCopyObject()
	if m := metaOf(object); m.GetDeletionTimestamp() == nil {
		at := s.stamp()
		m.SetDeletionTimestamp(&at)
	}
	if pod, ok := object.(*v1.Pod); ok && pod.Status.Phase != v1.PodSucceeded {
		pod.Status.Phase = v1.PodFailed
		if s.kind("nodes").objects[pod.Spec.NodeName] != nil {
			setReady(pod, false, s.stamp())
		}
	}
	if !reflect.DeepEqual(old, object) {
		s.put(resource, key, object)
	}
}

func (s *store) stamp() metav1.Time { return metav1.NewTime(s.now().Truncate(time.Second)) }

func (s *store) list(resource string, a clienttesting.ListActionImpl) (runtime.Object, error) {
	selector := labels.Everything()
	r := a.GetListRestrictions()
	if r.Labels != nil {
		selector = r.Labels
	}
	var items []runtime.Object
	objects := s.kind(resource).objects
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		m := metaOf(objects[key])
		if a.Namespace != "" && m.GetNamespace() != a.Namespace || !selector.Matches(labels.Set(m.GetLabels())) {
			continue
		}
		if pod, ok := objects[key].(*v1.Pod); ok && r.Fields != nil && !r.Fields.Matches(podFields(pod)) {
			continue
		}
		items = append(items, objects[key].DeepCopyObject())
	}
	of := a.Kind
	of.Kind += "List"
	list, err := scheme.Scheme.New(of)
	if err != nil {
		return nil, err
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(strconv.FormatUint(s.version, 10))
	return list, nil
}
