package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// debuggedOf is without brakes and budget.
func debuggedOf(cluster *evictortest.Cluster, e *evictor.Evictor) debugged {
	b := &brakes{}
	b.last.Store(&brakesRead{})
	b.attach(e, cluster.Clients().Nodes, false)
	return debugged{e: e, mayWrite: func() error { return nil }, observer: func() error { return nil }, brakes: b}
}

func TestExplainingNothingSaysSo(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 1))
	e := cluster.Start(evictor.DefaultConfig())
	handler := debugging(debuggedOf(cluster, e))
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

func TestWhoCannotBeConfirmedIsShown(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 3))
	e := cluster.Start(evictor.DefaultConfig())
	cluster.FailReads(errors.New("no role"))
	cluster.Fail("a-1")
	cluster.Advance(2 * time.Minute)
	d := debuggedOf(cluster, e)
	shown := d.state(shownAtMost).Suspects
	require.Len(t, shown, 1)
	require.Equal(t, "a-1", shown[0].Node)
	require.Contains(t, shown[0].Unanswered, "no role")
}

// TestWhatIsPendingIsToldUpToALimit: a large outage has very many of both.
func TestWhatIsPendingIsToldUpToALimit(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 5), evictortest.Zone("b", 5), evictortest.PodsPerNode(3))
	e := cluster.Start(evictor.DefaultConfig())
	for i := range 5 {
		cluster.Fail(fmt.Sprint("a-", i))
	}
	cluster.Advance(75 * time.Second) // three have been tainted, one every ten seconds
	evictions, waiting := len(e.Evictions()), len(e.Waiting())
	require.Greater(t, evictions, 3)
	require.NotZero(t, waiting)
	handler := debugging(debuggedOf(cluster, e))
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
