// Command why answers: which pods leave a node that falls silent, when, and why? It plays six minutes in virtual time, then
// asks.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

type tb struct{ *log.Logger } // stands for a test's t

func (tb) Helper() {}

func main() {
	cluster := evictortest.New(tb{log.Default()}, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
	cluster.Start(evictor.DefaultConfig())
	cluster.Fail("a-0")              // its kubelet falls silent
	cluster.Advance(6 * time.Minute) // takes milliseconds
	fmt.Println("evicted:", cluster.Evicted())
	for _, decision := range cluster.Explain("default/a-0-p0") {
		fmt.Println(decision)
	}
}
