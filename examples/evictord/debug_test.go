package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
)

// debuggedOf starts an evictor without brakes.
func debuggedOf(cluster *evictortest.Cluster) debugged {
	b, why := &brakes{}, explain.New(explained)
	b.last.Store(&brakesRead{})
	e := asControllers(cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: why}))
	b.attach(e, cluster.Clients().Nodes, false)
	return debugged{e: e, why: why, mayWrite: func() error { return nil }, observer: func() error { return nil }, brakes: b}
}

func asControllers(e *evictor.Evictor) controllers {
	return controllers{nodes: e.Nodes(), pods: e.Pods(), all: e}
}

func TestExplainingNothingSaysSo(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 1))
	handler := debugging(debuggedOf(cluster))
	for key, want := range map[string]string{
		"a-0":  "00:00:00 node a-0: seen for the first time\n",
		"a-00": "no decision about \"a-00\" in memory: give NODE or NAMESPACE/POD\n",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/evictor?explain="+key, nil))
		require.Equal(t, want, w.Body.String())
		require.Equal(t, key == "a-0", w.Code == http.StatusOK)
	}
}

// TestWhatIsPendingIsToldUpToALimit: a large outage has very many of both.
func TestWhatIsPendingIsToldUpToALimit(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 5), evictortest.Zone("b", 5), evictortest.PodsPerNode(3))
	d := debuggedOf(cluster)
	for i := range 5 {
		cluster.Fail(fmt.Sprint("a-", i))
	}
	cluster.Advance(75 * time.Second) // three have been tainted, one every ten seconds
	evictions, waiting := len(d.e.pods.Evictions()), len(d.e.nodes.Waiting())
	require.Greater(t, evictions, 3)
	require.NotZero(t, waiting)
	handler := debugging(d)
	told := func(query string) (told state) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/evictor"+query, nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &told))
		return told
	}
	all := told("")
	require.Zero(t, all.Omitted)
	require.Len(t, all.Evictions, evictions)
	require.Len(t, all.Waiting, waiting)
	one := told("?limit=1")
	require.Equal(t, all.Evictions[:1], one.Evictions)
	require.Equal(t, all.Waiting[:1], one.Waiting)
	require.Equal(t, evictions+waiting-2, one.Omitted)
	for _, wrong := range []string{"-1", "many"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/evictor?limit="+wrong, nil))
		require.Equal(t, http.StatusBadRequest, w.Code)
	}
}
