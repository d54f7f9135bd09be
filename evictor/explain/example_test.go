package explain_test

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
)

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Asking why.
func ExampleRing() {
	why := explain.New(100)
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: why})
	cluster.Fail("a-0")
	cluster.Advance(2 * time.Minute)
	cluster.Recover("a-0")
	cluster.Advance(time.Minute)
	for _, entry := range why.Explain("default/a-0-p0") {
		fmt.Println(entry)
	}
	// Output:
	// 00:00:00 node a-0: seen for the first time
	// 00:00:55 node a-0: no heartbeat seen for 55s (grace 50s), Ready True → Unknown
	// 00:00:55 node a-0: zone :a: Normal, 1 of 3 not ready, rate 0.1/s; waits for its turn
	// 00:00:55 node a-0: conditions set: Ready=Unknown, MemoryPressure=Unknown, DiskPressure=Unknown, PIDPressure=Unknown
	// 00:00:55 node a-0: taint node.kubernetes.io/unreachable:NoSchedule added, taint node.kubernetes.io/unreachable:NoExecute added
	// 00:00:55 pod default/a-0-p0: tolerates node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1]), due 00:05:55
	// 00:00:55 pod default/a-0-p0: marked not Ready, node a-0 is unreachable
	// 00:02:05 node a-0: Ready Unknown → True
	// 00:02:05 pod default/a-0-p0: eviction cancelled: NodeReady
	// 00:02:05 node a-0: taint node.kubernetes.io/unreachable:NoSchedule removed, taint node.kubernetes.io/unreachable:NoExecute removed
}
