package controlplane

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A leader is suspended after its requests have passed their last check, and they arrive when another one leads. The
// documentation of package clientgo lists what they can do.
func TestWhatAStoppedLeaderCanStillDo(t *testing.T) {
	c := open(t)
	for name, play := range map[string]func(*testing.T, *handOver){"nodes": lateTaints, "pods": lateEvictions} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := handOverConfig
			config.Name = "late-" + name
			h := c.newHandOver(t, config)
			h.startBoth(t, 0, "evictkit-"+config.Name)
			play(t, h)
			old := h.replicas[0]
			require.NoError(t, old.Signal(syscall.SIGCONT))
			// It ends because it has lost its lease, or it first finds out that it was blind for so long, and follows.
			c.eventually(t, func() bool { return old.Ended() || strings.Contains(old.Log(), "this=false") })
			require.False(t, h.replicas[1].Ended())
		})
	}
}

// holdAndStop holds the leader's requests, suspends it once there are n of them, and returns when the other one leads.
func (h *handOver) holdAndStop(t *testing.T, which func(*http.Request) bool, n int, meanwhile func()) (arrive func()) {
	t.Helper()
	lease := "evictkit-" + h.fleet.Config.Name
	first := h.c.leads(t, lease, "")
	arrive = h.replicas[0].proxy.Hold(which)
	t.Cleanup(arrive)
	require.Eventually(t, func() bool { return h.replicas[0].proxy.Held() >= n }, 2*soon, 10*time.Millisecond)
	require.NoError(t, h.replicas[0].Signal(syscall.SIGSTOP))
	meanwhile()
	h.c.leads(t, lease, first)
	return arrive
}

// lateTaints: a node that the next leader or its kubelet has written since is not written.
func lateTaints(t *testing.T, h *handOver) {
	h.fleet.Stop(h.failing...)
	patches := func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") && !strings.HasSuffix(r.URL.Path, "/status")
	}
	arrive := h.holdAndStop(t, patches, 1, func() {})
	require.NoError(t, h.taints(len(h.failing)))
	before := map[string]*metav1.Time{}
	h.c.view.Look(func(now *Now) {
		for _, node := range h.failing {
			before[node] = timeAdded(now.Node(node))
		}
	})
	held, answered := h.replicas[0].proxy.Held(), len(h.sent(t, 0, "patch", "nodes"))
	arrive()
	var late []Request
	h.c.eventually(t, func() bool {
		late = h.sent(t, 0, "patch", "nodes")[answered:]
		return len(late) == held
	})
	t.Logf("%d taints came late", held)
	for _, r := range late {
		require.Equal(t, http.StatusConflict, r.Code, r)
	}
	h.c.view.Look(func(now *Now) {
		for _, node := range h.failing {
			require.Equal(t, before[node], timeAdded(now.Node(node)), node)
		}
	})
}

// lateEvictions: a pod that the next leader has evicted is not evicted again, and a new pod of its name stays. A pod on
// a node that has come back since is evicted.
func lateEvictions(t *testing.T, h *handOver) {
	nodes := h.failing[:3]
	back, dead, again := nodes[0], nodes[1], nodes[2]
	pod := func(node string) string { return h.fleet.Pods(node)[0] }
	pods := h.pods(nodes)
	h.fleet.Stop(nodes...)
	names := []string{pod(back), pod(dead), pod(again)}
	deletes := func(r *http.Request) bool {
		return r.Method == http.MethodDelete && slices.Contains(names, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	}
	arrive := h.holdAndStop(t, deletes, len(names), func() { h.fleet.Start(back) })
	evicted := map[string]types.UID{pod(dead): pods[pod(dead)], pod(again): pods[pod(again)]}
	h.c.wait(t, 2*soon, func(now *Now) string {
		if HasNoExecute(now.Node(back)) {
			return back + " is not lifted"
		}
		return remain(now, evicted)
	})
	h.fleet.Start(again)
	h.c.wait(t, soon, func(now *Now) string {
		if now.Pod(pod(again)) != nil {
			return pod(again) + " is still being deleted"
		}
		return ""
	})
	young, err := h.c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(h.c.ctx, h.fleet.Pod(pod(again), again), metav1.CreateOptions{})
	require.NoError(t, err)
	var since *metav1.Time
	h.c.view.Look(func(now *Now) {
		require.Empty(t, leave(now, map[string]types.UID{pod(back): pods[pod(back)]}), "the next leader lets it live")
		since = now.Pod(pod(dead)).DeletionTimestamp
	})
	arrive()
	codes := map[string]int{}
	h.c.eventually(t, func() bool {
		for _, r := range h.sent(t, 0, "delete", "pods") {
			if slices.Contains(names, r.Name) {
				codes[r.Name] = r.Code
			}
		}
		return len(codes) == len(names)
	})
	require.Equal(t, map[string]int{pod(back): http.StatusOK, pod(dead): http.StatusOK, pod(again): http.StatusConflict}, codes)
	h.c.wait(t, soon, func(now *Now) string { return remain(now, map[string]types.UID{pod(back): pods[pod(back)]}) })
	h.c.view.Look(func(now *Now) {
		require.Equal(t, since, now.Pod(pod(dead)).DeletionTimestamp)
		require.Empty(t, leave(now, map[string]types.UID{young.Name: young.UID}))
	})
}

// sent returns the requests of that kind by a replica.
func (h *handOver) sent(t *testing.T, replica int, verb, resource string) (some []Request) {
	t.Helper()
	all, err := h.c.plane.Requests(h.replicas[replica].Name)
	require.NoError(t, err)
	for _, r := range all {
		if r.Verb == verb && r.Resource == resource {
			some = append(some, r)
		}
	}
	return some
}
