package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// apiServer serves lists of three nodes and nothing else, and refuses one path. It calls asked for each request.
func apiServer(t *testing.T, asked func(*http.Request), refuse string) (kubeconfig string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == refuse {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "not you"})
			return
		}
		list := v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		switch r.URL.Path {
		case "/api/v1/nodes":
			for _, name := range []string{"a", "b", "c"} {
				list.Items = append(list.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
		case "/api/v1/pods":
			list.Kind = "PodList"
		case "/api/v1/persistentvolumes":
			list.Kind = "PersistentVolumeList"
		case "/api/v1/persistentvolumeclaims":
			list.Kind = "PersistentVolumeClaimList"
		case "/apis/batch/v1/jobs":
			list.TypeMeta = metav1.TypeMeta{Kind: "JobList", APIVersion: "batch/v1"}
		case "/apis/apps/v1/statefulsets":
			list.TypeMeta = metav1.TypeMeta{Kind: "StatefulSetList", APIVersion: "apps/v1"}
		default:
			list.TypeMeta = metav1.TypeMeta{Kind: "PodDisruptionBudgetList", APIVersion: "policy/v1"}
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: server.URL}
	config.Contexts["test"] = &api.Context{Cluster: "test"}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

func TestSnapshotWritesWhatAScenarioReads(t *testing.T) {
	var paths []string
	kubeconfig := apiServer(t, func(r *http.Request) { paths = append(paths, r.Method+" "+r.URL.Path) }, "")
	file := filepath.Join(t.TempDir(), "cluster.json")
	_, told, err := simulate(t, "snapshot", "--kubeconfig", kubeconfig, "--context", "test", file)
	require.NoError(t, err)
	require.Equal(t, "3 nodes, 0 PodDisruptionBudgets, 0 PersistentVolumes, 0 PersistentVolumeClaims, 0 Jobs, 0 StatefulSets, 0 pods\n", told)
	require.Equal(t, []string{
		"GET /api/v1/nodes", "GET /apis/policy/v1/poddisruptionbudgets", "GET /api/v1/persistentvolumes", "GET /api/v1/persistentvolumeclaims",
		"GET /apis/batch/v1/jobs", "GET /apis/apps/v1/statefulsets", "GET /api/v1/pods",
	}, paths)
	story, _, err := simulate(t, "--scenario", scenarioFile(t, "cluster: {files: ["+file+"]}\nuntil: 1m\n"))
	require.NoError(t, err)
	require.Contains(t, story, "3 nodes and 0 pods")

	text, told, err := simulate(t, "snapshot", "--quiet", "--kubeconfig", kubeconfig, "--context", "test", "-")
	require.NoError(t, err)
	require.Empty(t, told)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(written), text)

	help, _, err := simulate(t, "snapshot", "--help")
	require.NoError(t, err)
	require.Contains(t, help, "kind: ClusterRole\n")
}

// If a snapshot fails, an existing file stays as it was, and no other file is left.
func TestASnapshotThatFailsLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.json")
	require.NoError(t, os.WriteFile(file, []byte("before"), 0o600))
	same := func() {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "before", string(text))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}
	refusing := apiServer(t, func(*http.Request) {}, "/api/v1/pods")
	_, _, err := simulate(t, "snapshot", "--kubeconfig", refusing, "--context", "test", file)
	require.ErrorContains(t, err, "snapshot: list pods: not you")
	require.Equal(t, 1, exitCode(err))
	same()

	ctx, interrupt := context.WithCancel(context.Background())
	interrupted := apiServer(t, func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			interrupt()
			<-r.Context().Done() // an answer before the client has gone might still count
		}
	}, "")
	var out, errs bytes.Buffer
	err = run(ctx, []string{"snapshot", "--kubeconfig", interrupted, "--context", "test", file}, strings.NewReader(""), &out, &errs)
	require.Equal(t, interruptedCode, exitCode(err), "%v", err)
	same()
}

func TestSnapshotSaysWhatItWants(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"--scenario", "x.yaml", "a"}, {"--engine", "both", "a"}} {
		_, _, err := simulate(t, append([]string{"snapshot"}, args...)...)
		require.Equal(t, 64, exitCode(err), "%v: %v", args, err)
	}
	_, _, err := simulate(t, "snapshot", "--kubeconfig", filepath.Join(t.TempDir(), "none"), "a")
	require.ErrorContains(t, err, "kubeconfig: ")
	require.ErrorContains(t, err, "none")
}
