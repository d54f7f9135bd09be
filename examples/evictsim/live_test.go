package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// kubelet is a node of 1000 MiB as it is read from files. It has a static pod, which uses the most, and shop/cart.
type kubelet struct {
	t   *testing.T
	dir string
}

func newKubelet(t *testing.T) kubelet {
	k := kubelet{t, t.TempDir()}
	pod := func(namespace, name, uid, node string) v1.Pod {
		return v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + uid)}, Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main"}}}}
	}
	etcd := pod("kube-system", "etcd-n", "of-the-mirror", "n")
	etcd.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"}
	k.write("pods.json", v1.PodList{Items: []v1.Pod{etcd, pod("shop", "cart", "1", "n"), pod("shop", "search", "2", "other"), pod("shop", "new", "3", "n")}})
	return k
}

// uses writes a Summary that was taken now, in which the pods use so many MiB together.
func (k kubelet) uses(used int) {
	type object = map[string]any
	memory := func(mib int) object {
		return object{"time": time.Now().UTC().Format(time.RFC3339), "availableBytes": (1000 - mib) << 20, "workingSetBytes": mib << 20}
	}
	sample := func(namespace, name, uid string, mib int) object {
		return object{"podRef": object{"namespace": namespace, "name": name, "uid": uid}, "memory": memory(mib)}
	}
	k.write("summary.json", object{
		"node": object{"nodeName": "n", "memory": memory(used), "rlimit": object{"maxpid": 32768, "curproc": 95}},
		"pods": []object{sample("kube-system", "etcd-n", "hash", used*2/3), sample("shop", "cart", "uid-1", used/3), sample("shop", "gone", "uid-0", 1)},
	})
}

func (k kubelet) write(name string, content any) {
	text, err := json.Marshal(content)
	require.NoError(k.t, err)
	require.NoError(k.t, os.WriteFile(k.at(name), text, 0o600))
}

func (k kubelet) at(name string) string { return filepath.Join(k.dir, name) }

// flags are those that read the node.
func (k kubelet) flags() flags {
	return flags{until: time.Minute, pressure: pressureFlags{live: "n", summary: k.at("summary.json"), pods: k.at("pods.json"), interval: 10 * time.Second}}
}

// TestLive: what a kubelet measures is played and recorded, and the record gives the same story.
func TestLive(t *testing.T) {
	var out, errs bytes.Buffer
	k := newKubelet(t)
	f := k.flags()
	f.pressure.to = k.at("record.jsonl")
	synctest.Test(t, func(t *testing.T) {
		k.uses(100)
		go func() {
			time.Sleep(15 * time.Second)
			k.uses(950)
			time.Sleep(20 * time.Second)
			k.uses(951)
		}()
		require.NoError(t, pressure(context.Background(), f, &out, &errs))
	})
	story := out.String()
	require.Empty(t, errs.String())
	require.Contains(t, story, "          0s  memory.available 900 MiB of 1000 MiB, pid.available 32,673 of 32,768; 2 pods\n")
	require.Contains(t, story, "         20s  MemoryPressure begins: memory.available < 100Mi, 52428800 available\n")
	require.Contains(t, story, "         20s  evict shop/cart with 1s to end: memory.available < 100Mi since 20s\n", "not the static pod, which uses more")
	require.Equal(t, 1, strings.Count(story, "evict shop"), "from then on it is taken for gone")
	require.Equal(t, 1, strings.Count(story, "          0s  pod shop/gone is measured, but the API does not have it: it is not evicted\n"))
	require.Equal(t, 1, strings.Count(story, "          0s  pod shop/new has no sample: it is not evicted\n"))
	require.NotContains(t, story, "shop/search", "it is on another node")
	require.Contains(t, story, "7 samples over 1m0s: 1 pod evicted, a condition began 1 time\n")

	again, _, err := simulate(t, "--pressure", f.pressure.to)
	require.NoError(t, err)
	var events []string
	for _, line := range strings.Split(story, "\n") {
		if !strings.Contains(line, " of 1000 MiB") && !strings.Contains(line, "  pod shop/") {
			events = append(events, line)
		}
	}
	require.Equal(t, strings.Join(events, "\n"), again)
}

// TestLiveGoesOn when a sample is missing, and says so.
func TestLiveGoesOn(t *testing.T) {
	var out bytes.Buffer
	k := newKubelet(t)
	synctest.Test(t, func(t *testing.T) {
		k.uses(100)
		go func() {
			time.Sleep(5 * time.Second)
			k.write("summary.json", "cut")
			time.Sleep(10 * time.Second)
			k.uses(100)
		}()
		f := k.flags()
		f.until = 20 * time.Second
		require.NoError(t, pressure(context.Background(), f, &out, &out))
	})
	require.Contains(t, out.String(), "         10s  no sample: summary: json: cannot unmarshal string")
	require.Contains(t, out.String(), "2 samples over 20s: 0 pods evicted")
}

// TestLiveThroughTheAPIServer, as evictsim asks it.
func TestLiveThroughTheAPIServer(t *testing.T) {
	k := newKubelet(t)
	k.uses(950)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/api/v1/nodes/n/proxy/stats/summary":
			http.ServeFile(w, r, k.at("summary.json"))
		case "/api/v1/pods?fieldSelector=spec.nodeName%3Dn":
			http.ServeFile(w, r, k.at("pods.json"))
		default:
			http.Error(w, "no "+r.URL.String(), http.StatusForbidden)
		}
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	require.NoError(t, err)
	body, pods, err := ofKubelet(client, "n")(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(body), `"nodeName":"n"`)
	require.Len(t, pods, 4)
	_, _, err = ofKubelet(client, "m")(t.Context())
	require.ErrorContains(t, err, "the Summary of node m (it needs permission to get nodes/proxy)")
}

// TestLiveEndsWhenInterrupted and writes what it has so far.
func TestLiveEndsWhenInterrupted(t *testing.T) {
	k := newKubelet(t)
	k.uses(100)
	f := k.flags()
	f.pressure.to = k.at("record.jsonl")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out bytes.Buffer
	require.NoError(t, pressure(ctx, f, &out, &out))
	written, err := os.ReadFile(f.pressure.to)
	require.NoError(t, err)
	require.Equal(t, 4, bytes.Count(written, []byte("\n")), "the node, two pods and a sample")

	var record, story bytes.Buffer
	f.pressure.to, f.quiet = "-", true
	require.NoError(t, pressure(ctx, f, &record, &story))
	require.Empty(t, story.String())
	require.Equal(t, 4, strings.Count(record.String(), "\n"))
	f.quiet = false
	require.NoError(t, pressure(ctx, f, io.Discard, &story))
	require.Contains(t, story.String(), "thresholds:")
	require.NotContains(t, story.String(), `{"node"`)
}

// TestLiveRecordIsThereAtOnce: however the program ends, what was measured is recorded.
func TestLiveRecordIsThereAtOnce(t *testing.T) {
	k := newKubelet(t)
	f := k.flags()
	f.timeline, f.pressure.to = k.at("timeline.jsonl"), k.at("record.jsonl")
	var record, events []byte
	var recordErr, eventsErr error
	synctest.Test(t, func(t *testing.T) {
		k.uses(100)
		go func() {
			time.Sleep(5 * time.Second)
			k.uses(990)
			time.Sleep(10 * time.Second)
			record, recordErr = os.ReadFile(f.pressure.to)
			events, eventsErr = os.ReadFile(f.timeline)
		}()
		require.NoError(t, pressure(context.Background(), f, io.Discard, io.Discard))
	})
	require.NoError(t, errors.Join(recordErr, eventsErr))
	require.Equal(t, 5, bytes.Count(record, []byte("\n")), "the node, two pods and two samples")
	require.Contains(t, string(events), "MemoryPressure")
	require.NotContains(t, string(record), `"nodeName"`, "pods are trimmed")
}
