package frontend

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// session is what one process of the controllers sees of the Server. Once the process restarts, the old session is dead:
// its requests fail.
type session struct {
	server   *Server
	watchers map[string][]*watcher
	listed   map[string][]watch.Event // what happened between a list and its watch
}

// client is a fake clientset whose REST client accepts events.
type client struct {
	kubernetes.Interface
	events rest.Interface
}

type coreV1 struct {
	corev1client.CoreV1Interface
	events rest.Interface
}

func (c client) CoreV1() corev1client.CoreV1Interface {
	return coreV1{c.Interface.CoreV1(), c.events}
}
func (c coreV1) RESTClient() rest.Interface { return c.events }

// IsWatchListSemanticsUnSupported makes newer reflectors list before they watch.
func (client) IsWatchListSemanticsUnSupported() bool { return true }

// client returns the clients of a process, until the context ends.
func (s *session) client(ctx context.Context) kubernetes.Interface {
	set := fake.NewSimpleClientset()
	go forget(ctx, set)
	set.PrependReactor("*", "*", s.react)
	set.PrependWatchReactor("*", s.watch)
	return client{set, &restfake.RESTClient{
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: v1.SchemeGroupVersion, VersionedAPIPath: "/api/v1",
		Client: restfake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		}),
	}}
}

// forget drops the requests that a fake clientset records, because a long scenario makes millions of them.
func forget(ctx context.Context, set *fake.Clientset) {
	for ctx.Err() == nil {
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's time
		set.ClearActions()
	}
}

func (s *session) tell(resource string, event watch.Event) {
	if log, ok := s.listed[resource]; ok {
		s.listed[resource] = append(log, event)
	}
	for _, w := range s.watchers[resource] {
		w.add(event)
	}
}

func (s *session) close() {
	for _, list := range s.watchers {
		for _, w := range list {
			w.Stop()
		}
	}
}

func (s *session) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	resource := action.GetResource().Resource
	w := newWatcher()
	for _, event := range s.listed[resource] {
		w.add(event)
	}
	delete(s.listed, resource)
	s.watchers[resource] = append(s.watchers[resource], w)
	return true, w, nil
}

// react answers every request. A get that fails returns an empty object beside the error, as a real client does, because
// upstream's controllers read the object's name.
func (s *session) react(action clienttesting.Action) (handled bool, object runtime.Object, err error) {
	defer func() {
		if err != nil && action.GetVerb() == "get" {
			object = map[string]runtime.Object{nodes: &v1.Node{}, pods: &v1.Pod{}, leases: &coordinationv1.Lease{}}[action.GetResource().Resource]
		}
	}()
	if action.GetVerb() == "create" {
		object := As[clienttesting.CreateAction](action).GetObject()
		if event, ok := object.(*v1.Event); ok {
			s.event(event)
		}
		return true, object, nil
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.session != s {
		return true, nil, apierrors.NewServiceUnavailable("the process of this client is gone")
	}
	resource := action.GetResource()
	switch action.GetVerb() { // the interfaces of actions contain each other
	case "list":
		s.listed[resource.Resource] = []watch.Event{}
		list, err := s.server.list(resource.Resource)
		return true, list, err
	case "update":
		defer s.server.mu.Wrote()
		object, err := s.server.update(As[clienttesting.UpdateAction](action))
		return true, object, err
	case "patch":
		defer s.server.mu.Wrote()
		object, err := s.server.patch(resource.Resource, As[clienttesting.PatchAction](action))
		return true, object, err
	case "delete":
		defer s.server.mu.Wrote()
		a := As[clienttesting.DeleteAction](action)
		return true, nil, s.server.evict(a.GetNamespace(), a.GetName())
	case "get":
		a := As[clienttesting.GetAction](action)
		object, err := s.server.get(resource.Resource, a.GetNamespace(), a.GetName())
		return true, object, err
	}
	return true, nil, fmt.Errorf("frontend: cannot %s %s", action.GetVerb(), resource.Resource)
}

// event turns the taint eviction controller's event about a cancelled eviction into a decision.
func (s *session) event(e *v1.Event) {
	if e.Reason != "TaintManagerEviction" || !strings.HasPrefix(e.Message, "Cancelling") {
		return
	}
	key := evictor.PodKey{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
	s.server.mu.Lock()
	pod, ok := s.server.clients.Pods.Pod(key)
	defer s.server.mu.Unlock()
	if ok && s.server.session == s { // a pod that is gone is not cancelled
		s.server.world.ObservePod(evictor.PodDecision{
			Time: s.server.now(), Kind: tainteviction.EvictionCancelled, Reason: "upstream does not say why", Pod: evictor.PodRef{PodKey: key, Node: pod.Spec.NodeName},
		})
	}
}

func (s *Server) get(resource, namespace, name string) (runtime.Object, error) {
	if namespace != "" && resource != leases {
		name = namespace + "/" + name
	}
	object, ok := s.objects[resource][name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
	}
	return object.DeepCopyObject(), nil
}

func (s *Server) evict(namespace, name string) error {
	object, err := s.get(pods, namespace, name)
	if err != nil {
		return err
	}
	pod := As[*v1.Pod](object)
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: namespace, Name: name}, UID: pod.UID, Node: pod.Spec.NodeName}
	return s.clients.PodWriter.Evict(context.Background(), ref, taints.Deadline{Taint: &v1.Taint{}}) // upstream does not say which
}

// update updates a node's or a pod's status.
func (s *Server) update(a clienttesting.UpdateAction) (runtime.Object, error) {
	switch object := a.GetObject().(type) {
	case *v1.Node:
		current, err := s.get(nodes, "", object.Name)
		if err != nil {
			return nil, err
		}
		node := As[*v1.Node](current)
		if object.ResourceVersion != node.ResourceVersion {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: nodes}, object.Name, fmt.Errorf("it is newer"))
		}
		if err := s.clients.NodeWriter.UpdateConditions(context.Background(), node, changedConditions(node.Status.Conditions, object.Status.Conditions)); err != nil {
			return nil, err
		}
		return s.get(nodes, "", object.Name)
	case *v1.Pod:
		ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: object.Namespace, Name: object.Name}, UID: object.UID}
		if podReady(object) {
			return object, s.reach()
		}
		if err := s.clients.PodWriter.MarkNotReady(context.Background(), ref); err != nil {
			return nil, err
		}
		return s.get(pods, object.Namespace, object.Name)
	}
	return nil, fmt.Errorf("frontend: cannot update %s", a.GetResource().Resource)
}

func podReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func changedConditions(before, after []v1.NodeCondition) (changed []v1.NodeCondition) {
next:
	for _, c := range after {
		for _, old := range before {
			if old.Type == c.Type && old.Status == c.Status {
				continue next
			}
		}
		changed = append(changed, c)
	}
	return changed
}

// replacer is what the simulation's NodeWriter has beyond nodelifecycle.NodeWriter.
type replacer interface {
	ReplaceTaints(ctx context.Context, node *v1.Node, list []v1.Taint) error
}

// patch changes a node's taints and labels, and passes on a patch of a pod's status. It applies a patch based on an older
// version to the newest one. With a real API server, upstream would get the same result after a conflict and a wait. It
// must not wait here: it would hold a lock that its next pass may need, and virtual time would stand still for ever.
func (s *Server) patch(resource string, a clienttesting.PatchAction) (runtime.Object, error) {
	current, err := s.get(resource, a.GetNamespace(), a.GetName())
	if err != nil {
		return nil, err
	}
	if resource != nodes {
		err := s.reach()
		if err == nil && s.others != nil {
			s.others.PodPatched(evictor.PodKey{Namespace: a.GetNamespace(), Name: a.GetName()}, a.GetPatch())
		}
		return current, err
	}
	node := As[*v1.Node](current)
	var from struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(a.GetPatch(), &from); err != nil {
		return nil, err
	}
	base, list := node, node.Spec.Taints
	for _, old := range s.past[node.Name] {
		if old.ResourceVersion == from.Metadata.ResourceVersion {
			base = old
		}
	}
	patched, err := apply(base, a.GetPatch())
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(patched.Labels, base.Labels) {
		if err := s.clients.NodeWriter.UpdateLabels(context.Background(), node, patched.Labels); err != nil {
			return nil, err
		}
	}
	if base == node {
		list = patched.Spec.Taints
	} else {
		list = taints.Diff(base.Spec.Taints, patched.Spec.Taints, nil).Apply(list, s.now())
	}
	if err := As[replacer](s.clients.NodeWriter).ReplaceTaints(context.Background(), node, list); err != nil {
		return nil, err
	}
	if d := taints.Diff(node.Spec.Taints, list, nil); d.Empty() && len(patched.Spec.Taints) > 0 && reflect.DeepEqual(patched.Labels, base.Labels) {
		s.Rewrites = append(s.Rewrites, Rewrite{s.now().Sub(simulation.Epoch), node.Name})
	}
	return s.get(nodes, "", node.Name)
}

func apply(node *v1.Node, patch []byte) (*v1.Node, error) {
	before, err := json.Marshal(node)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, v1.Node{})
	if err != nil {
		return nil, err
	}
	patched := &v1.Node{}
	return patched, json.Unmarshal(after, patched)
}

var listMeta = metav1.ListMeta{ResourceVersion: "1"}
