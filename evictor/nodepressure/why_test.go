package nodepressure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestWhy: each decision says what it is and what led to it.
func TestWhy(t *testing.T) {
	n := newNode(t, thresholds(softly(MemoryAvailable, "1Gi", 30*time.Second), hardly(NodeFsAvailable, "1Gi"), hardly(PIDAvailable, "100")))
	why := func(d Decision) string { return d.Why() }
	observe := func(signal Signal, available string) string { return why(n.observe(signal, available)) }
	require.Equal(t, "no threshold is met; there is no sample for 2 thresholds", observe(MemoryAvailable, "2Gi"))
	require.Equal(t, "memory.available < 1Gi for 30s, but only since 0s; there is no sample for 2 thresholds", observe(MemoryAvailable, "512Mi"))
	n.after(30 * time.Second)
	require.Equal(t, "memory.available < 1Gi for 30s, and 512Mi of 10Gi is available: no pod can be evicted, because none is in the sample", observe(MemoryAvailable, "512Mi"))
	static, critical := build("static", mid, annotated(configSource, "file"), memoryUse("9Gi")), build("critical", 2_000_000_000, memoryUse("3Gi"))
	n.pods = []Pod{static, critical}
	require.Equal(t, "memory.available < 1Gi for 30s, and 512Mi of 10Gi is available: no pod can be evicted, because all of 2 pods are protected", observe(MemoryAvailable, "512Mi"))
	n.pods = []Pod{build("cart", high, requests("memory", "100Mi"), memoryUse("1Gi")), static, critical}
	require.Equal(t, "memory.available < 1Gi for 30s, and 512Mi of 10Gi is available: evict default/cart, of priority 1, which uses 1Gi and requests 100Mi; 1 pod before it cannot be evicted", observe(MemoryAvailable, "512Mi"))
	n.pods = []Pod{build("cart", high)}
	require.Equal(t, "pid.available < 100, and 7 of 10k is available: evict default/cart, whose usage is not known", observe(PIDAvailable, "7"))

	d := n.observe(NodeFsAvailable, "512Mi")
	require.Equal(t, "nodefs.available < 1Gi, and 512Mi of 10Gi is available: reclaim [DeadContainers UnusedImages] first", why(d))
	require.Equal(t, "nodefs.available < 1Gi, and 512Mi of 10Gi is available before reclaiming: what was reclaimed is enough", why(n.machine.AfterReclaim(d, sample(NodeFsAvailable, "2Gi"))))

	stale := sample(PIDAvailable, "7")
	s := stale.Signals[PIDAvailable]
	s.Time = epoch
	stale.Signals[PIDAvailable] = s
	n.machine.Observe(stale)
	require.Equal(t, "pid.available < 100, but the sample is not new; there is no sample for 2 thresholds", why(n.machine.Observe(stale)))

	limited := newNode(t, Config{LocalStorageLimits: true}, build("cart", mid, limits("ephemeral-storage", "1Gi"), diskUse("2Gi", "0", "0")))
	d = limited.machine.Observe(Stats{Pods: limited.pods})
	require.Equal(t, "evict default/cart: Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.", why(d))
}
