package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestExplainingNothingSaysSo(t *testing.T) {
	e := evictortest.New(t, evictortest.Zone("a", 1)).Start(evictor.DefaultConfig())
	handler := debugging(e, func() error { return nil }, func() error { return nil })
	for key, want := range map[string]string{
		"a-0":  "00:00:00 node a-0: seen for the first time\n",
		"a-00": "no decision about \"a-00\" is remembered: give NODE or NAMESPACE/POD\n",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/evictor?explain="+key, nil))
		require.Equal(t, want, w.Body.String())
		require.Equal(t, key == "a-0", w.Code == http.StatusOK)
	}
}
