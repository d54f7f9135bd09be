package evictor_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// manyArmed returns an evictor with 150,000 armed evictions and 1,000 waiting nodes.
func manyArmed(tb testing.TB) *evictor.Evictor {
	tb.Helper()
	cluster := evictortest.New(tb, evictortest.Zone("a", 1_500), evictortest.Zone("b", 1), evictortest.Zone("c", 1_000), evictortest.PodsPerNode(100))
	config := evictor.DefaultConfig()
	config.NodeEvictionRate = 10_000
	var shut closures
	e := cluster.Start(config, evictor.Options{MayHarmIn: shut.may})
	shut.evictor = e
	fail := func(zone string, nodes int) {
		for i := range nodes {
			cluster.Fail(fmt.Sprintf("%s-%d", zone, i))
		}
		cluster.Advance(2 * time.Minute)
	}
	fail("a", 1_500)
	shut.set("c", "test")
	fail("c", 1_000)
	return e
}

// TestScrapesAreShort: what metrics read from the evictor holds its lock only briefly.
func TestScrapesAreShort(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("a large cluster")
	}
	e := manyArmed(t)
	shortest := time.Hour // the shortest of several, because this machine may be busy
	for range 100 {
		began := time.Now()
		backlogs, zones := e.Backlogs(), e.Zones()
		shortest = min(shortest, time.Since(began))
		require.Equal(t, 1_000, backlogs[0].Len)
		require.Equal(t, 150_000, backlogs[1].Len)
		require.Len(t, zones, 3)
	}
	require.Less(t, shortest, 100*time.Microsecond)
}

func BenchmarkScrape(b *testing.B) {
	e := manyArmed(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		e.Backlogs()
		e.Zones()
	}
}
