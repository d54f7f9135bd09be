package manager_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evictkit/evictkit/evictor/clientgo/clientgotest"
)

// api answers requests out of a fake clientset, without a network: what stands between a manager and it lives in its
// bubble. It refuses what was made from an older version, as API servers do.
type api struct {
	client *fake.Clientset
	kinds  map[string]metav1.APIResource

	mu   sync.Mutex
	seen map[string]int // guarded by mu: requests by verb and resource
	old  int            // guarded by mu: lists out of an old cache, with resourceVersion 0

	gitVersion string
	denied     func(asked *authorizationv1.ResourceAttributes) bool // nil is nothing
}

func newAPI(objects ...runtime.Object) *api {
	a := &api{gitVersion: "v1.36.3", client: clientgotest.NewClientset(objects...), kinds: make(map[string]metav1.APIResource), seen: make(map[string]int)}
	for _, kind := range []metav1.APIResource{
		{Name: "nodes", Kind: "Node"}, {Name: "pods", Kind: "Pod", Namespaced: true}, {Name: "events", Kind: "Event", Namespaced: true},
		{Name: "leases", Kind: "Lease", Namespaced: true, Group: "coordination.k8s.io"},
	} {
		kind.Version = "v1"
		a.kinds[kind.Name] = kind
	}
	return a
}

func (a *api) config() *rest.Config { return &rest.Config{Host: "http://api", Transport: a} }

func (a *api) requests() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.seen)
}

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if discovered := a.discovery(parts); discovered != nil {
		return answer(r, http.StatusOK, discovered), nil
	}
	if parts[len(parts)-1] == "selfsubjectaccessreviews" {
		return a.review(r), nil
	}
	at := slices.IndexFunc(parts, func(part string) bool { return a.kinds[part].Name != "" })
	if at < 0 {
		return refuse(r, apierrors.NewNotFound(schema.GroupResource{}, r.URL.Path)), nil
	}
	asked := request{Request: r, kind: a.kinds[parts[at]]}
	if at > 1 && parts[at-2] == "namespaces" {
		asked.namespace = parts[at-1]
	}
	if rest := parts[at+1:]; len(rest) > 0 {
		asked.name, asked.subresource = rest[0], strings.Join(rest[1:], "/")
	}
	a.mu.Lock()
	a.seen[asked.verb()+" "+asked.kind.Name]++
	if asked.verb() == "list" && r.URL.Query().Get("resourceVersion") == "0" {
		a.old++
	}
	a.mu.Unlock()
	if asked.verb() == "watch" {
		return a.watch(asked)
	}
	obj, err := a.do(asked)
	if err != nil {
		return refuse(r, err), nil
	}
	return answer(r, http.StatusOK, encoded(asked.group(), obj)), nil
}

// discovery is what a client's mapper asks first, nil for all else.
func (a *api) discovery(parts []string) []byte {
	var list any
	group := map[string]string{"api/v1": "", "apis/coordination.k8s.io/v1": "coordination.k8s.io"}
	switch path := strings.Join(parts, "/"); path {
	case "version":
		list = version.Info{GitVersion: a.gitVersion}
	case "api":
		list = metav1.APIVersions{Versions: []string{"v1"}}
	case "apis":
		preferred := metav1.GroupVersionForDiscovery{GroupVersion: "coordination.k8s.io/v1", Version: "v1"}
		list = metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "coordination.k8s.io", Versions: []metav1.GroupVersionForDiscovery{preferred}, PreferredVersion: preferred}}}
	default:
		name, ok := group[path]
		if !ok {
			return nil
		}
		resources := metav1.APIResourceList{GroupVersion: strings.TrimPrefix(strings.TrimPrefix(path, "apis/"), "api/")}
		for _, kind := range a.kinds {
			if kind.Group == name {
				resources.APIResources = append(resources.APIResources, kind)
			}
		}
		list = resources
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return text
}

// review answers whether something is allowed.
func (a *api) review(r *http.Request) *http.Response {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return refuse(r, err)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
	if err != nil || !ok {
		return refuse(r, apierrors.NewBadRequest("no review"))
	}
	review.Status.Allowed = a.denied == nil || !a.denied(review.Spec.ResourceAttributes)
	return answer(r, http.StatusCreated, encoded(authorizationv1.SchemeGroupVersion, review))
}

// request is one about objects.
type request struct {
	*http.Request
	kind                         metav1.APIResource
	namespace, name, subresource string
}

func (r request) verb() string {
	switch {
	case r.Method != http.MethodGet:
		return strings.ToLower(r.Method)
	case r.URL.Query().Get("watch") != "":
		return "watch"
	case r.name == "":
		return "list"
	}
	return "get"
}

func (r request) group() schema.GroupVersion {
	return schema.GroupVersion{Group: r.kind.Group, Version: r.kind.Version}
}

func (a *api) do(r request) (runtime.Object, error) {
	resource := r.group().WithResource(r.kind.Name)
	switch r.verb() {
	case "list":
		return a.client.Invokes(clienttesting.NewListAction(resource, r.group().WithKind(r.kind.Kind), r.namespace, metav1.ListOptions{}), nil)
	case "get":
		return a.client.Invokes(clienttesting.NewGetAction(resource, r.namespace, r.name), nil)
	case "delete":
		_, err := a.client.Invokes(clienttesting.NewDeleteAction(resource, r.namespace, r.name), nil)
		return &metav1.Status{Status: metav1.StatusSuccess}, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.verb() == "patch" {
		return a.client.Invokes(clienttesting.NewPatchSubresourceAction(resource, r.namespace, r.name, types.PatchType(r.Header.Get("Content-Type")), body, r.subresource), nil)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	if r.verb() == "put" {
		return a.client.Invokes(clienttesting.NewUpdateAction(resource, r.namespace, obj), nil)
	}
	return a.client.Invokes(clienttesting.NewCreateAction(resource, r.namespace, obj), nil)
}

// watch streams until nobody reads, as a server does that knows no watch-lists.
func (a *api) watch(r request) (*http.Response, error) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		a.mu.Lock()
		a.seen["stream "+r.kind.Name]++
		a.mu.Unlock()
		return refuse(r.Request, apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", nil)), nil
	}
	events, err := a.client.InvokesWatch(clienttesting.NewWatchAction(r.group().WithResource(r.kind.Name), r.namespace, metav1.ListOptions{}))
	if err != nil {
		return refuse(r.Request, err), nil
	}
	body, to := io.Pipe()
	go func() {
		defer events.Stop()
		defer to.Close()
		for {
			select {
			case <-r.Context().Done():
				return
			case event := <-events.ResultChan():
				if _, err := to.Write(frame(r.group(), event)); err != nil {
					return
				}
			}
		}
	}()
	response := answer(r.Request, http.StatusOK, nil)
	response.Body = body
	return response, nil
}

func frame(group schema.GroupVersion, event watch.Event) []byte {
	text, err := json.Marshal(metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: encoded(group, event.Object)}})
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

func encoded(group schema.GroupVersion, obj runtime.Object) []byte {
	text, err := runtime.Encode(scheme.Codecs.LegacyCodec(group), obj)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", obj, err))
	}
	return text
}

func answer(r *http.Request, code int, body []byte) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}
}

func refuse(r *http.Request, err error) *http.Response {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if known, ok := err.(apierrors.APIStatus); ok {
		status = known.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	text, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return answer(r, int(status.Code), text)
}
