package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer is as much of an API server as an idle controller needs: lists, in pages or as watch-lists, and watches in
// which leases are renewed, all in protobuf.
type apiServer struct {
	*httptest.Server
	nodes, pods int
	watchLists  bool
	gitVersion  string
	denied      func(verb, resource string) bool

	mu       sync.Mutex
	requests map[string]int // guarded by mu: by method and path
	by       map[string]int // guarded by mu: by user agent

	election http.HandlerFunc // the lease of the leader; nil has none
	written  func()           // called at each write of a node or pod; may be nil

	configMap func() *map[string]string // the data of every ConfigMap; nil has none
}

// seen returns the requests so far.
func (s *apiServer) seen() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// agents returns the user agents of the requests, with their counts.
func (s *apiServer) agents() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.by)
}

const contentType = "application/vnd.kubernetes.protobuf"

var (
	encoder    = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	rawEncoder = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
)

func newAPIServer() *apiServer {
	s := &apiServer{gitVersion: "v1.36.3", denied: func(string, string) bool { return false }, requests: make(map[string]int), by: make(map[string]int)}
	s.Server = httptest.NewUnstartedServer(s)
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests[r.Method+" "+r.URL.Path]++
	s.by[r.UserAgent()]++
	s.mu.Unlock()
	w.Header().Set("Content-Type", contentType)
	switch resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
	case r.URL.Path == "/version":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"major":"1","minor":"36","gitVersion":%q}`, s.gitVersion)
	case strings.Contains(r.URL.Path, "/namespaces/kube-system/leases") && s.election != nil:
		s.election(w, r)
	case resource == "selfsubjectaccessreviews":
		s.review(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		s.watch(w, r, resource)
	case r.Method == http.MethodGet && slices.Contains([]string{"nodes", "pods", "leases"}, resource):
		s.list(w, r, resource)
	case strings.Contains(r.URL.Path, "/configmaps/") && s.configMap != nil && s.configMap() != nil:
		s.encode(w, &v1.ConfigMap{Data: *s.configMap()})
	case r.Method == http.MethodPost:
		s.accept(w, r)
	case r.Method == http.MethodPatch && s.written != nil:
		s.written()
		s.refuse(w, apierrors.NewNotFound(v1.Resource(resource), r.URL.Path))
	default:
		s.refuse(w, apierrors.NewNotFound(v1.Resource(resource), r.URL.Path))
	}
}

func (s *apiServer) refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	w.WriteHeader(int(err.ErrStatus.Code))
	s.encode(w, &err.ErrStatus)
}

func (s *apiServer) encode(w http.ResponseWriter, obj runtime.Object) {
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	if _, ok := obj.(*metav1.Status); ok {
		obj.GetObjectKind().SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Status"))
	}
	_ = encoder.Encode(obj, w) // the client is gone
}

func (s *apiServer) count(resource string) int {
	return map[string]int{"nodes": s.nodes, "pods": s.pods, "leases": s.nodes}[resource]
}

// object returns the i-th object.
func (s *apiServer) object(resource string, i int) runtime.Object {
	meta := metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%06d", resource, i), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)), ResourceVersion: strconv.Itoa(1000 + i),
		CreationTimestamp: metav1.NewTime(began),
	}
	switch resource {
	case "nodes":
		meta.Name, meta.Labels = nodeName(i), map[string]string{v1.LabelTopologyZone: fmt.Sprint("zone-", i%3), v1.LabelHostname: nodeName(i), v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64"}
		n := &v1.Node{ObjectMeta: meta}
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(began), Reason: "KubeletReady"})
		return n
	case "pods":
		meta.Namespace, meta.Labels = fmt.Sprint("namespace-", i%200), map[string]string{"app": "web", "pod-template-hash": "5d4f8c7b9"}
		seconds := int64(300)
		p := &v1.Pod{ObjectMeta: meta, Spec: v1.PodSpec{NodeName: nodeName(i % s.nodes), Tolerations: []v1.Toleration{
			{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		}}}
		p.Status.Phase = v1.PodRunning
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(began)}}
		return p
	default:
		meta.Name, meta.Namespace = nodeName(i), v1.NamespaceNodeLease
		renewed := metav1.NewMicroTime(began)
		holder, period := nodeName(i), int32(40)
		return &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, HolderIdentity: &holder, LeaseDurationSeconds: &period}}
	}
}

var began = time.Now().Add(-time.Hour).Truncate(time.Second)

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-0-%d-%d.region.compute.internal", i/256, i%256)
}

func (s *apiServer) list(w http.ResponseWriter, r *http.Request, resource string) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to := s.count(resource)
	about := metav1.ListMeta{ResourceVersion: "100000"}
	if limit > 0 && from+limit < to && r.URL.Query().Get("resourceVersion") != "0" {
		to = from + limit
		about.Continue = strconv.Itoa(to)
	}
	switch resource {
	case "nodes":
		list := &v1.NodeList{ListMeta: about}
		for i := from; i < to; i++ {
			list.Items = append(list.Items, *s.object(resource, i).(*v1.Node))
		}
		s.encode(w, list)
	case "pods":
		list := &v1.PodList{ListMeta: about}
		for i := from; i < to; i++ {
			list.Items = append(list.Items, *s.object(resource, i).(*v1.Pod))
		}
		s.encode(w, list)
	default:
		list := &coordinationv1.LeaseList{ListMeta: about}
		for i := from; i < to; i++ {
			list.Items = append(list.Items, *s.object(resource, i).(*coordinationv1.Lease))
		}
		s.encode(w, list)
	}
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, resource string) {
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	if initial && !s.watchLists {
		s.refuse(w, apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil))
		return
	}
	w.Header().Set("Content-Type", contentType+";stream=watch")
	w.WriteHeader(http.StatusOK)
	frames := protobuf.LengthDelimitedFramer.NewFrameWriter(w)
	send := func(kind string, obj runtime.Object) {
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
			obj.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		raw, err := runtime.Encode(encoder, obj)
		if err == nil {
			err = rawEncoder.Encode(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}}, frames)
		}
		_ = err // the client is gone
	}
	if initial {
		for i := range s.count(resource) {
			send("ADDED", s.object(resource, i))
		}
		end := s.object(resource, 0)
		meta := end.(metav1.Object)
		meta.SetResourceVersion("100000")
		meta.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		send("BOOKMARK", end)
	}
	_ = http.NewResponseController(w).Flush()
	if resource != "leases" || s.nodes == 0 {
		<-r.Context().Done()
		return
	}
	ticker := time.NewTicker(100 * time.Millisecond) // each is renewed every ten seconds
	defer ticker.Stop()
	version := 200000
	for batch := 0; ; batch++ {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
		for i := batch % 100; i < s.nodes; i += 100 {
			version++
			lease := s.object(resource, i).(*coordinationv1.Lease)
			now := metav1.NowMicro()
			lease.Spec.RenewTime, lease.ResourceVersion = &now, strconv.Itoa(version)
			send("MODIFIED", lease)
		}
		_ = http.NewResponseController(w).Flush()
	}
}
