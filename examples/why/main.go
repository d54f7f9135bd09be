// Command why answers: which pods leave a node that falls silent, when, and why? It plays six minutes in virtual time, then
// asks.
package main

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// stand stands for a test's t.
type stand struct{ *log.Logger }

func (stand) Helper() {}

var t = stand{log.Default()}

func main() {
	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
	cluster.Start(evictor.DefaultConfig())
	cluster.Fail("a-0")              // its kubelet falls silent
	cluster.Advance(6 * time.Minute) // takes milliseconds
	fmt.Println("evicted:", cluster.Evicted())
	for _, decision := range cluster.Explain("default/a-0-p0") {
		fmt.Println(strings.ReplaceAll(decision.String(), "node.kubernetes.io/", "")) // to fit a page
	}
}
