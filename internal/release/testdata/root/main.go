// What becomes of the pods of a node that falls silent? An outage in virtual time.
package main

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func main() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	cluster.Start(evictor.DefaultConfig())
	cluster.Fail("a-0")
	cluster.Advance(6 * time.Minute)
	fmt.Println(cluster.Evicted())
}
