package evictor_test

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// play fails nodes of a cluster with two zones, and prints which are tainted, and which bounds refused the others.
func play(options func(*evictortest.Cluster) evictor.Options, fail ...string) {
	config := evictor.DefaultConfig()
	config.NodeEvictionRate = 1
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
	e := cluster.Start(config, options(cluster))
	cluster.Fail(fail...)
	cluster.Advance(5 * time.Minute)
	for _, name := range fail {
		fmt.Print(name, " tainted: ", cluster.HasNoExecute(name))
		for _, d := range e.Explain(name) {
			if d.Kind == evictor.TurnRefused {
				fmt.Print(", ", d.Err)
			}
		}
		fmt.Println()
	}
}

func notReady(m evictor.Member) bool { return !m.Ready }

// Karpenter's rule for the evictor: taint no node while more than a fifth of its zone, rounded up, is not ready.
func ExampleOptions_budgetLikeKarpenter() {
	play(func(c *evictortest.Cluster) evictor.Options {
		b, _ := budget.New(budget.Config[string, evictor.Member]{
			Dimensions: map[string]func(evictor.Member) (string, bool){
				"zone": func(m evictor.Member) (string, bool) { return m.Domain.Zone, true },
			},
			Bad: notReady, Clock: c.Clock(),
			Bounds: []budget.Bound{{Name: "a fifth", Per: "zone", Of: budget.Bad, Max: budget.Percent(20).Up()}},
		})
		return evictor.Options{Budget: b}
	}, "a-0", "a-1", "b-0", "b-1", "b-2")
	// Output:
	// a-0 tainted: true
	// a-1 tainted: true
	// b-0 tainted: false, budget "a fifth" allows at most 2 in zone "b": 3 is too many
	// b-1 tainted: false, budget "a fifth" allows at most 2 in zone "b": 3 is too many
	// b-2 tainted: false, budget "a fifth" allows at most 2 in zone "b": 3 is too many
}

// Cluster API's unhealthyRange [1-3] for the whole cluster: leave a larger failure to people.
func ExampleOptions_budgetLikeClusterAPI() {
	play(func(c *evictortest.Cluster) evictor.Options {
		b, _ := budget.New(budget.Config[string, evictor.Member]{
			Bad: notReady, Clock: c.Clock(),
			Bounds: []budget.Bound{{Name: "unhealthyRange", Of: budget.Bad, Min: budget.Count(1), Max: budget.Count(3)}},
		})
		return evictor.Options{Budget: b}
	}, "a-0", "a-1", "b-0", "b-1")
	// Output:
	// a-0 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
	// a-1 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
	// b-0 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
	// b-1 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
}

// A breaker for the whole cluster: two nodes in ten minutes, and none until a quarter of it has been ready again for
// ten minutes. Pending evictions wait meanwhile.
func ExampleOptions_budgetAsBreaker() {
	play(func(c *evictortest.Cluster) evictor.Options {
		b, _ := budget.New(budget.Config[string, evictor.Member]{
			Bad: notReady, Clock: c.Clock(),
			Bounds: []budget.Bound{
				{Name: "a quarter", Of: budget.Bad, Max: budget.Percent(25), Quiet: 10 * time.Minute},
				{Name: "two in ten minutes", Of: budget.Recent, Within: 10 * time.Minute, Max: budget.Count(2)},
			},
		})
		return evictor.Options{Budget: b, Exceeded: func(*budget.Refusal) zone.Pending { return zone.Wait }}
	}, "a-0", "a-1", "b-0")
	// Output:
	// a-0 tainted: true
	// a-1 tainted: false, budget "two in ten minutes" allows at most 2: 3 is too many
	// b-0 tainted: true
}
