package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	certutil "k8s.io/client-go/util/cert"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestARecordedNode: it says at once which pod goes, and why no other one does.
func TestARecordedNode(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, command(t.Context(), nil, &out))
	require.Equal(t, `node node-1, as recorded
memory.available < 100Mi, and 60Mi of 3996Mi is available: evict shop/search, of priority 0, which uses 700Mi and requests 256Mi; 1 pod before it cannot be evicted
conditions [MemoryPressure]
1. kube-system/etcd-node-1: StaticPod, Burstable, priority 0, uses 1536 MiB, requests 100 MiB
2. shop/search: Evictable, Burstable, priority 0, uses 700 MiB, requests 256 MiB
3. shop/batch: Evictable, Burstable, priority 0, uses 180 MiB, requests 64 MiB
4. shop/database: Evictable, Burstable, priority 1000, uses 900 MiB, requests 1024 MiB
-  shop/report: the API does not have it, so its protection is not known
-  shop/web: the kubelet does not measure it
`, out.String())
}

func TestBadFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(`{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`), 0o600))
	kubelet := filepath.Join(t.TempDir(), "kubelet.yaml")
	require.NoError(t, os.WriteFile(kubelet, []byte("evictionHard: {containerfs.available: 10%}"), 0o600))
	for want, args := range map[string][]string{
		"--kubelet-config: evictionHard[containerfs.available]: Forbidden": {"--kubelet-config", kubelet},
		"--kubeconfig: ": {"--node", "n", "--kubeconfig", "nowhere"},
		"--kubelet needs --kubelet-cert and --kubelet-key, or --kubelet-token": {"--node", "n", "--kubeconfig", file, "--kubelet", "https://127.0.0.1:10250"},
		"--kubelet-cert and --kubelet-key need each other":                     {"--node", "n", "--kubeconfig", file, "--kubelet", "https://127.0.0.1:10250", "--kubelet-cert", "x"},
		"--kubelet: ":    {"--node", "n", "--kubeconfig", file, "--kubelet", "https://127.0.0.1:10250", "--kubelet-token", "x", "--kubelet-ca", "nowhere"},
		"unknown layout": {"--layout", "TwoFs"},
	} {
		require.ErrorContains(t, command(t.Context(), args, &bytes.Buffer{}), want)
	}
}

// TestAKubeletIsAsked with a token or a certificate, over TLS; what it answers instead of a Summary is reported.
func TestAKubeletIsAsked(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := len(r.TLS.PeerCertificates) > 0 && r.TLS.PeerCertificates[0].Subject.CommonName != "" || r.Header.Get("Authorization") == "Bearer secret"
		if !known || r.URL.Path != "/stats/summary" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(recordedSummary)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	ca, token, other := filepath.Join(dir, "ca"), filepath.Join(dir, "token"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("wrong"), 0o600))
	ask := func(ca, token string) ([]byte, error) {
		read, err := fromKubelet(flags{kubelet: server.URL, ca: ca, token: token})
		require.NoError(t, err)
		return read(t.Context())
	}
	body, err := ask(ca, token)
	require.NoError(t, err)
	require.Equal(t, recordedSummary, body)
	_, err = ask(ca, other)
	require.ErrorContains(t, err, "/stats/summary answers 401 Unauthorized: no")
	_, err = ask("", token)
	require.ErrorContains(t, err, "certificate")

	cert, key, err := certutil.GenerateSelfSignedCertKey("nodeagent", nil, nil)
	require.NoError(t, err)
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(certFile, cert, 0o600))
	require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	read, err := fromKubelet(flags{kubelet: server.URL, ca: ca, cert: certFile, key: keyFile})
	require.NoError(t, err)
	body, err = read(t.Context())
	require.NoError(t, err)
	require.Equal(t, recordedSummary, body)
}

// world is a node in virtual time: an API and a kubelet that measures it and ends pods that are deleted.
type world struct {
	client *fake.Clientset
	out    lines
	free   int64 // bytes of memory; guarded by out
	old    time.Duration
}

// lines is an output that several goroutines write.
type lines struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func (w *world) said() string {
	w.out.Lock()
	defer w.out.Unlock()
	return w.out.String()
}

func newWorld() *world {
	pod := func(name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name)}, Spec: v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "main"}}}}
	}
	cart, web := pod("cart"), pod("web")
	cart.Generation = 3
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-of-n"}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientMemory"}}}}
	return &world{client: fake.NewClientset(cart, web, node), free: 1 << 30}
}

// read is the kubelet's Summary. Memory comes back when the cart is gone.
func (w *world) read(context.Context) ([]byte, error) {
	w.out.Lock()
	defer w.out.Unlock()
	type object = map[string]any
	at := metav1.NewTime(time.Now().Add(-w.old))
	sample := func(name string, used int64) object {
		return object{"podRef": object{"namespace": "shop", "name": name, "uid": "uid-of-" + name}, "memory": object{"workingSetBytes": used}}
	}
	return json.Marshal(object{
		"node": object{"nodeName": "n", "memory": object{"time": at, "availableBytes": w.free, "workingSetBytes": 1 << 30}},
		"pods": []object{sample("cart", 900), sample("web", 100), sample("static", 9000)},
	})
}

// run runs the agent in a bubble, and calls each step after 15 seconds.
func (w *world) run(t *testing.T, f flags, steps ...func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		f.node = "n"
		machine, err := nodepressure.New(nodepressure.DefaultConfig())
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- newAgent(f, w.client, w.read, &w.out).run(ctx, machine) }()
		for _, step := range steps {
			time.Sleep(15 * time.Second)
			step()
		}
		stop()
		require.NoError(t, <-done)
	})
}

func (w *world) set(free int64, old time.Duration) func() {
	return func() {
		w.out.Lock()
		defer w.out.Unlock()
		w.free, w.old = free, old
	}
}

func (w *world) condition(t *testing.T, kind v1.NodeConditionType) *v1.NodeCondition {
	t.Helper()
	node, err := w.client.CoreV1().Nodes().Get(context.Background(), "n", metav1.GetOptions{})
	require.NoError(t, err)
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// statuses are what was written into the status of pods, and deletions what was deleted.
func (w *world) acts() (statuses []v1.Pod, deletions []metav1.DeleteOptions) {
	for _, action := range w.client.Actions() {
		switch a := action.(type) {
		case clienttesting.UpdateActionImpl:
			if pod, ok := a.GetObject().(*v1.Pod); ok {
				statuses = append(statuses, *pod)
			}
		case clienttesting.DeleteActionImpl:
			deletions = append(deletions, a.GetDeleteOptions())
		}
	}
	return statuses, deletions
}

// TestThePodThatGoes is failed with its reason, then deleted by its UID. The condition has the agent's type and its times;
// that of the kubelet stays.
func TestThePodThatGoes(t *testing.T) {
	w := newWorld()
	var began, later *v1.NodeCondition
	w.run(t, flags{act: true},
		w.set(1<<20, time.Second),
		func() { began = w.condition(t, ownTypes+v1.NodeMemoryPressure); w.set(1<<30, 0)() },
		func() {}, func() {}, func() {}, func() {}, func() { later = w.condition(t, ownTypes+v1.NodeMemoryPressure) },
	)
	statuses, deletions := w.acts()
	require.Len(t, statuses, 1)
	status := statuses[0].Status
	require.Equal(t, "cart", statuses[0].Name)
	require.Equal(t, v1.PodFailed, status.Phase)
	require.Equal(t, "Evicted", status.Reason)
	require.Contains(t, status.Message, "The node was low on resource: memory. Threshold quantity: 100Mi, available: 1Mi.")
	require.Len(t, status.Conditions, 1)
	require.Equal(t, v1.DisruptionTarget, status.Conditions[0].Type)
	require.Equal(t, v1.PodReasonTerminationByKubelet, status.Conditions[0].Reason)
	require.EqualValues(t, 3, status.Conditions[0].ObservedGeneration)
	require.False(t, status.Conditions[0].LastTransitionTime.IsZero())
	require.Len(t, deletions, 1)
	require.EqualValues(t, "uid-of-cart", *deletions[0].Preconditions.UID)
	require.EqualValues(t, 1, *deletions[0].GracePeriodSeconds)

	require.Equal(t, v1.ConditionTrue, began.Status)
	require.Equal(t, "HasInsufficientMemory", began.Reason)
	require.Equal(t, "the node has insufficient memory available", began.Message)
	require.Equal(t, began.LastTransitionTime, began.LastHeartbeatTime)
	require.Equal(t, v1.ConditionTrue, later.Status, "a transition period has not passed")
	require.True(t, began.LastTransitionTime.Equal(&later.LastTransitionTime))
	require.Greater(t, later.LastHeartbeatTime.Sub(began.LastHeartbeatTime.Time), 50*time.Second)
	require.Equal(t, "KubeletHasSufficientMemory", w.condition(t, v1.NodeMemoryPressure).Reason)
	require.Contains(t, w.said(), "evict shop/cart, of priority 0, which uses 900 and requests 0 (measured 1s ago)")
	require.Contains(t, w.said(), "memory.available was measured before the last pod was gone", "it shows no shortage of now")
}

// TestNothingIsWrittenWithoutAct.
func TestNothingIsWrittenWithoutAct(t *testing.T) {
	w := newWorld()
	w.free = 1
	w.run(t, flags{}, func() {}, func() {})
	statuses, deletions := w.acts()
	require.Empty(t, statuses)
	require.Empty(t, deletions)
	require.Nil(t, w.condition(t, ownTypes+v1.NodeMemoryPressure))
	require.Contains(t, w.said(), "evict shop/cart")
}

// TestConditionsOfTheKubelet are written only if asked for.
func TestConditionsOfTheKubelet(t *testing.T) {
	w := newWorld()
	w.free = 1
	w.run(t, flags{act: true, kubelets: true}, func() {})
	require.Equal(t, "KubeletHasInsufficientMemory", w.condition(t, v1.NodeMemoryPressure).Reason)
	require.Nil(t, w.condition(t, ownTypes+v1.NodeMemoryPressure))
}

// TestThePodIsAnotherOne: only the very pod that was measured goes, and none that is protected now.
func TestThePodIsAnotherOne(t *testing.T) {
	for _, change := range []func(*v1.Pod){
		func(p *v1.Pod) { p.UID = "uid-of-another" },
		func(p *v1.Pod) { p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"} },
	} {
		w := newWorld()
		w.free = 1
		w.client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "uid-of-cart"}}
			change(pod)
			return true, pod, nil
		})
		w.run(t, flags{act: true}, func() {})
		statuses, deletions := w.acts()
		require.Empty(t, statuses)
		require.Empty(t, deletions)
	}
}

// TestOldFiguresDecideNothing.
func TestOldFiguresDecideNothing(t *testing.T) {
	w := newWorld()
	w.free, w.old = 1, tooOld+time.Second
	w.run(t, flags{act: true}, func() {})
	_, deletions := w.acts()
	require.Empty(t, deletions)
	require.Contains(t, w.said(), "there is no sample of memory.available")
}

// TestTheWrongKubelet is not believed.
func TestTheWrongKubelet(t *testing.T) {
	w := newWorld()
	a := newAgent(flags{node: "m"}, w.client, w.read, &w.out)
	_, err := a.Stats(t.Context())
	require.ErrorContains(t, err, `this is the kubelet of node "n", not of m`)
}
