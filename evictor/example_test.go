package evictor_test

import (
	"context"
	"fmt"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Driving an evictor yourself: call Step, and call it again when it says. Run(ctx) does the same in a loop, with
// workers.
func ExampleEvictor_Step() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Clock: cluster.Clock()})
	if err != nil {
		fmt.Println(err) // every fault of the configuration
		return
	}
	next, err := e.Step(context.Background())
	fmt.Println(next.Sub(evictortest.Epoch), err)
	// Output:
	// 5s <nil>
}
