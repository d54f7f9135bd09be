package clientgo_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/taints"
)

// server is an API server that has a list of each kind, keeps watches open and answers writes as told.
type server struct {
	lists map[string]runtime.Object // by path

	mu       sync.Mutex
	requests []string     // guarded by mu: writes, as "METHOD path type body"
	listed   []url.Values // guarded by mu: of lists
	answer   func(w http.ResponseWriter, r *http.Request)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		list, ok := s.lists[r.URL.Path]
		switch {
		case !ok:
			status(w, apierrors.NewNotFound(v1.Resource("any"), r.URL.Path))
		case r.URL.Query().Get("sendInitialEvents") != "": // as servers before 1.32 answer
			status(w, apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil))
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			s.mu.Lock()
			s.listed = append(s.listed, r.URL.Query())
			s.mu.Unlock()
			_ = json.NewEncoder(w).Encode(list)
		}
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body)}, " ")))
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
}

func (s *server) wrote() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

func status(w http.ResponseWriter, err *apierrors.StatusError) {
	w.WriteHeader(int(err.ErrStatus.Code))
	e := err.ErrStatus
	e.Kind, e.APIVersion = "Status", "v1"
	_ = json.NewEncoder(w).Encode(e)
}

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// clients are a Cluster's clients on the server, synced. The clock stands still but for watches and the guard.
func (s *server) clients(t *testing.T, o clientgo.Options) evictor.Clients {
	t.Helper()
	listed := func(kind, version string, items ...runtime.Object) runtime.Object {
		list := &metav1.List{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: version}, ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
		for _, item := range items {
			list.Items = append(list.Items, runtime.RawExtension{Object: item})
		}
		return list
	}
	n, p := node("a-0"), pod("p", "a-0")
	n.ResourceVersion, p.ResourceVersion, p.Generation = "41", "42", 7
	marked := pod("marked", "a-0")
	marked.Status.Conditions = append(marked.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "DeletionByTaintManager"})
	n.Spec.Taints = []v1.Taint{{Key: "theirs", Effect: v1.TaintEffectNoSchedule}}
	s.lists = map[string]runtime.Object{
		"/api/v1/nodes": listed("NodeList", "v1", n),
		"/api/v1/pods":  listed("PodList", "v1", p, marked),
		"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": listed("LeaseList", "coordination.k8s.io/v1", lease("a-0")),
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: web.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}})
	require.NoError(t, err)
	o.Clock, o.LeaseSilence = clocktesting.NewFakeClock(now), -1
	cluster, err := clientgo.New(client, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- cluster.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ran)
	})
	require.Eventually(t, cluster.Synced, 10*time.Second, time.Millisecond)
	return cluster.Clients()
}

func TestWritesArePatchesWithPreconditions(t *testing.T) {
	s := &server{}
	clients := s.clients(t, clientgo.Options{})
	ctx := context.Background()
	n, ok := clients.Nodes.Node("a-0")
	require.True(t, ok)
	transition := metav1.NewTime(now)
	require.NoError(t, clients.NodeWriter.UpdateConditions(ctx, n, []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown, LastTransitionTime: transition}}))
	require.NoError(t, clients.NodeWriter.UpdateTaints(ctx, n, taints.Change{Add: []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}}))
	require.NoError(t, clients.NodeWriter.UpdateLabels(ctx, n, map[string]string{"beta.kubernetes.io/os": "linux"}))
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod", Node: "a-0"}
	require.NoError(t, clients.PodWriter.MarkNotReady(ctx, ref))
	require.NoError(t, clients.PodWriter.Evict(ctx, ref, taints.Deadline{Taint: &v1.Taint{}}))
	require.NoError(t, clients.PodWriter.Evict(ctx, ref, taints.Deadline{}))
	marked := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "marked"}, UID: "uid-pod", Node: "a-0"}
	require.NoError(t, clients.PodWriter.Evict(ctx, marked, taints.Deadline{Taint: &v1.Taint{}}))
	const remove = `DELETE /api/v1/namespaces/shop/pods/p application/json {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-pod"}}`
	require.Equal(t, []string{
		`PATCH /api/v1/nodes/a-0/status application/strategic-merge-patch+json {"metadata":{"uid":"uid-node","resourceVersion":"41"},` +
			`"status":{"conditions":[{"type":"Ready","status":"Unknown","lastHeartbeatTime":null,"lastTransitionTime":"2026-05-01T12:00:00Z"}]}}`,
		`PATCH /api/v1/nodes/a-0 application/merge-patch+json {"metadata":{"uid":"uid-node","resourceVersion":"41"},"spec":{"taints":[{"key":"theirs","effect":"NoSchedule"},` +
			`{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-05-01T12:00:00Z"}]}}`,
		`PATCH /api/v1/nodes/a-0 application/merge-patch+json {"metadata":{"uid":"uid-node","labels":{"beta.kubernetes.io/os":"linux"}}}`,
		`PATCH /api/v1/namespaces/shop/pods/p/status application/strategic-merge-patch+json {"metadata":{"uid":"uid-pod","resourceVersion":"42"},` +
			`"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-05-01T12:00:00Z"}]}}`,
		`PATCH /api/v1/namespaces/shop/pods/p/status application/strategic-merge-patch+json {"metadata":{"uid":"uid-pod"},"status":{"conditions":[` +
			`{"type":"DisruptionTarget","observedGeneration":7,"status":"True","lastTransitionTime":"2026-05-01T12:00:00Z","reason":"DeletionByTaintManager","message":"Taint manager: deleting due to NoExecute taint"}]}}`,
		remove,
		remove,
		strings.ReplaceAll(remove, "pods/p", "pods/marked"),
	}, s.wrote())
}

func TestEvictionsMayHaveAClientOfTheirOwn(t *testing.T) {
	others := &server{}
	web := httptest.NewServer(others)
	t.Cleanup(web.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: web.URL})
	require.NoError(t, err)
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod", Node: "a-0"}
	for _, api := range []bool{false, true} {
		s := &server{}
		clients := s.clients(t, clientgo.Options{EvictionClient: client, EvictionAPI: api})
		require.NoError(t, clients.PodWriter.Evict(context.Background(), ref, taints.Deadline{Taint: &v1.Taint{}}))
		require.Empty(t, s.wrote())
		require.NoError(t, clients.PodWriter.MarkNotReady(context.Background(), ref))
		require.Len(t, s.wrote(), 1)
	}
	require.Len(t, others.wrote(), 3, "a condition, a deletion; an eviction")
}

// Before several pods go together, each is asked for by a dry run of its eviction; without the eviction API nobody is asked.
func TestEvictionsAreCheckedByADryRun(t *testing.T) {
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod", Node: "a-0"}
	for _, api := range []bool{false, true} {
		s := &server{}
		cluster, ok := s.clients(t, clientgo.Options{EvictionAPI: api}).Source.(*clientgo.Cluster)
		require.True(t, ok)
		require.NoError(t, cluster.CheckEviction(context.Background(), ref))
		if !api {
			require.Empty(t, s.wrote())
			continue
		}
		require.Len(t, s.wrote(), 1)
		require.Contains(t, s.wrote()[0], "POST /api/v1/namespaces/shop/pods/p/eviction application/json")
		require.Contains(t, s.wrote()[0], `"deleteOptions":{"preconditions":{"uid":"uid-pod"},"dryRun":["All"]}`)
		s.mu.Lock()
		s.answer = func(w http.ResponseWriter, _ *http.Request) { status(w, apierrors.NewTooManyRequests("a budget", 0)) }
		s.mu.Unlock()
		err := cluster.CheckEviction(context.Background(), ref)
		require.True(t, apierrors.IsTooManyRequests(err))
		require.ErrorContains(t, err, "checking the eviction of pod")
	}
}

func TestAnotherPodUnderTheNameIsNotTouched(t *testing.T) {
	s := &server{}
	clients := s.clients(t, clientgo.Options{})
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-of-the-old-one", Node: "a-0"}
	require.True(t, apierrors.IsNotFound(clients.PodWriter.Evict(context.Background(), ref, taints.Deadline{Taint: &v1.Taint{}})))
	require.True(t, apierrors.IsNotFound(clients.PodWriter.MarkNotReady(context.Background(), ref)))
	require.Empty(t, s.wrote())
}

// refusedFor is what a write comes to that the API server finds invalid for that field.
func refusedFor(t *testing.T, field string) error {
	t.Helper()
	s := &server{answer: func(w http.ResponseWriter, _ *http.Request) {
		status(w, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: field}}},
		}})
	}}
	clients := s.clients(t, clientgo.Options{})
	n, ok := clients.Nodes.Node("a-0")
	require.True(t, ok)
	return clients.NodeWriter.UpdateLabels(context.Background(), n, map[string]string{"a": "b"})
}

func TestTheUIDOfAnotherIsAConflict(t *testing.T) {
	err := refusedFor(t, "metadata.uid")
	require.True(t, apierrors.IsConflict(err), err)
	require.ErrorContains(t, err, "patching the labels of node a-0")
}

// TestWhatIsInvalidStaysSo: only the UID is a precondition.
func TestWhatIsInvalidStaysSo(t *testing.T) {
	require.True(t, apierrors.IsInvalid(refusedFor(t, "spec.taints")))
}

// TestListsAreReadInPages: the API server answers resourceVersion 0 with everything at once.
func TestListsAreReadInPages(t *testing.T) {
	s := &server{}
	s.clients(t, clientgo.Options{})
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.listed, 3)
	for _, query := range s.listed {
		require.Equal(t, "500", query.Get("limit"))
		require.Empty(t, query.Get("resourceVersion"))
	}
}

func TestEvictionHoldsNoWorkerWhileABudgetHoldsIt(t *testing.T) {
	s := &server{answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		status(w, apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 3600))
	}}
	clients := s.clients(t, clientgo.Options{EvictionAPI: true})
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod", Node: "a-0"}
	err := clients.PodWriter.Evict(context.Background(), ref, taints.Deadline{Taint: &v1.Taint{}})
	require.True(t, apierrors.IsTooManyRequests(err), err)
	seconds, ok := apierrors.SuggestsClientDelay(err)
	require.True(t, ok)
	require.Equal(t, 3600, seconds)
	wrote := s.wrote()
	require.Len(t, wrote, 1, "once, without tries of the client's own")
	require.Contains(t, wrote[0], `POST /api/v1/namespaces/shop/pods/p/eviction application/json {"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"p","namespace":"shop"`)
	require.Contains(t, wrote[0], `"preconditions":{"uid":"uid-pod"}`)
}

// TestWhatIsUnderWayIsFinished: a context that ends does not cut a pod off between its condition and its deletion.
func TestWhatIsUnderWayIsFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{answer: func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}}
	clients := s.clients(t, clientgo.Options{})
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod", Node: "a-0"}
	require.NoError(t, clients.PodWriter.Evict(ctx, ref, taints.Deadline{Taint: &v1.Taint{}}))
	require.Len(t, s.wrote(), 2)
}

// TestNothingIsBegunAfterTheEnd: the pods of a node are written one by one, and the lease is handed over after the last.
func TestNothingIsBegunAfterTheEnd(t *testing.T) {
	s := &server{}
	clients := s.clients(t, clientgo.Options{})
	n, ok := clients.Nodes.Node("a-0")
	require.True(t, ok)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "p"}, UID: "uid-pod", Node: "a-0"}
	require.ErrorIs(t, clients.NodeWriter.UpdateLabels(ctx, n, map[string]string{"a": "b"}), context.Canceled)
	require.ErrorIs(t, clients.PodWriter.MarkNotReady(ctx, ref), context.Canceled)
	require.ErrorIs(t, clients.PodWriter.Evict(ctx, ref, taints.Deadline{Taint: &v1.Taint{}}), context.Canceled)
	require.Empty(t, s.wrote())
}

// TestWhatWasWrittenShowsAtOnce: the next write is made from what the last one left, before the watch brings it.
func TestWhatWasWrittenShowsAtOnce(t *testing.T) {
	s := &server{answer: func(w http.ResponseWriter, _ *http.Request) {
		n := node("a-0")
		n.TypeMeta, n.ResourceVersion = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, "101"
		n.Spec.Taints = []v1.Taint{{Key: "written", Effect: v1.TaintEffectNoSchedule}}
		_ = json.NewEncoder(w).Encode(n)
	}}
	clients := s.clients(t, clientgo.Options{})
	n, ok := clients.Nodes.Node("a-0")
	require.True(t, ok)
	require.NoError(t, clients.NodeWriter.UpdateTaints(context.Background(), n, taints.Change{Add: []v1.Taint{{Key: "written", Effect: v1.TaintEffectNoSchedule}}}))
	n, ok = clients.Nodes.Node("a-0")
	require.True(t, ok)
	require.Equal(t, "101", n.ResourceVersion)
	require.Equal(t, "written", n.Spec.Taints[0].Key)
	clients.Nodes.Nodes(func(n *v1.Node) bool {
		require.Equal(t, "101", n.ResourceVersion)
		return true
	})
}

// TestWhatWasWrittenShowsAsItIsKept: a hold that reads what is not kept would come and go with each write.
func TestWhatWasWrittenShowsAsItIsKept(t *testing.T) {
	s := &server{answer: func(w http.ResponseWriter, _ *http.Request) {
		n := node("a-0")
		n.TypeMeta, n.ResourceVersion, n.Annotations = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, "101", map[string]string{"hold": "yes", "large": "text"}
		_ = json.NewEncoder(w).Encode(n)
	}}
	for name, row := range map[string]struct {
		options clientgo.Options
		want    map[string]string
	}{
		"kept small": {},
		"kept more": {
			clientgo.Options{Keep: clientgo.Keep{NodeAnnotations: []string{"hold"}}}, map[string]string{"hold": "yes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clients := s.clients(t, row.options)
			n, ok := clients.Nodes.Node("a-0")
			require.True(t, ok)
			require.NoError(t, clients.NodeWriter.UpdateLabels(context.Background(), n, map[string]string{"a": "b"}))
			n, ok = clients.Nodes.Node("a-0")
			require.True(t, ok)
			require.Equal(t, "101", n.ResourceVersion)
			require.Equal(t, row.want, n.Annotations)
		})
	}
}
