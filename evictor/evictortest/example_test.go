package evictortest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestNodeFails(t *testing.T) {
	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
	cluster.Start(evictor.DefaultConfig())
	cluster.Fail("a-0")
	cluster.Advance(6 * time.Minute)
	require.Equal(t, []string{"a-0-p0", "a-0-p1"}, cluster.Evicted())
	require.Empty(t, cluster.EvictedFrom("b-0"))
}

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A test of your own, in virtual time.
func ExampleCluster() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
	cluster.Start(evictor.DefaultConfig())
	cluster.Fail("a-0")
	cluster.Advance(6 * time.Minute)
	fmt.Println(cluster.Evicted())
	for _, d := range cluster.Explain("a-0-p0") {
		fmt.Println(d)
	}
	// Output:
	// [a-0-p0 a-0-p1]
	// 00:00:00 node a-0: seen for the first time
	// 00:00:55 node a-0: no heartbeat seen for 55s (grace 50s), Ready True → Unknown
	// 00:00:55 node a-0: zone :a: Normal, 1 of 3 not ready, rate 0.1/s; waits for its turn
	// 00:00:55 node a-0: conditions set: Ready=Unknown, MemoryPressure=Unknown, DiskPressure=Unknown, PIDPressure=Unknown
	// 00:00:55 node a-0: taint node.kubernetes.io/unreachable:NoSchedule added, taint node.kubernetes.io/unreachable:NoExecute added
	// 00:00:55 pod default/a-0-p0: tolerates node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1]), due 00:05:55
	// 00:00:55 pod default/a-0-p0: marked not Ready, node a-0 is unreachable
	// 00:05:55 pod default/a-0-p0: evicted from node a-0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1])
}
