package guard_test

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/budget/guard"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// play fails nodes of a cluster with two zones, and prints which are tainted, and which bounds refused the others.
func play(bounds []budget.Bound, with guard.Options, fail ...string) {
	config := evictor.DefaultConfig()
	config.Nodes.NodeEvictionRate = 1
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
	b, err := budget.New(budget.Config[string, guard.Member]{
		Dimensions: map[string]func(guard.Member) (string, bool){
			"zone": func(m guard.Member) (string, bool) { return m.Domain.Zone, true },
		},
		Bad:    func(m guard.Member) bool { return !m.Ready },
		Bounds: bounds, Clock: cluster.Clock(),
	})
	if err != nil {
		panic(err)
	}
	g, err := guard.New(b, config.Nodes, with)
	if err != nil {
		panic(err)
	}
	cluster.Start(config, g.On(evictor.Options{Clock: cluster.Clock()}))
	cluster.Fail(fail...)
	cluster.Advance(5 * time.Minute)
	for _, name := range fail {
		status, _ := cluster.Evictor().Nodes().Node(name)
		fmt.Print(name, " tainted: ", cluster.HasNoExecute(name))
		if status.HeldBack != nil {
			fmt.Print(", ", status.HeldBack)
		}
		fmt.Println()
	}
}

// Karpenter's rule for the evictor: taint no node while more than a fifth of its zone, rounded up, is not ready.
func Example_likeKarpenter() {
	play([]budget.Bound{{Name: "a fifth", Per: "zone", Of: budget.Bad, Max: budget.Percent(20).Up()}}, guard.Options{},
		"a-0", "a-1", "b-0", "b-1", "b-2")
	// Output:
	// a-0 tainted: true
	// a-1 tainted: true
	// b-0 tainted: false, budget "a fifth" allows at most 2 in zone "b": 3 is too many
	// b-1 tainted: false, budget "a fifth" allows at most 2 in zone "b": 3 is too many
	// b-2 tainted: false, budget "a fifth" allows at most 2 in zone "b": 3 is too many
}

// Cluster API's unhealthyRange [1-3] for the whole cluster: leave a larger failure to people.
func Example_likeClusterAPI() {
	play([]budget.Bound{{Name: "unhealthyRange", Of: budget.Bad, Min: budget.Count(1), Max: budget.Count(3)}}, guard.Options{},
		"a-0", "a-1", "b-0", "b-1")
	// Output:
	// a-0 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
	// a-1 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
	// b-0 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
	// b-1 tainted: false, budget "unhealthyRange" allows at most 3: 4 is too many
}

// A breaker for the whole cluster: two nodes in ten minutes, and none until three quarters of it have been ready for ten
// minutes. Evictions that are pending wait meanwhile.
func Example_breaker() {
	play([]budget.Bound{
		{Name: "a quarter", Of: budget.Bad, Max: budget.Percent(25), Quiet: 10 * time.Minute},
		{Name: "two in ten minutes", Of: budget.Recent, Within: 10 * time.Minute, Max: budget.Count(2)},
	}, guard.Options{Exceeded: func(*budget.Refusal) (wait bool) { return true }}, "a-0", "a-1", "b-0")
	// Output:
	// a-0 tainted: true
	// a-1 tainted: false, budget "two in ten minutes" allows at most 2: 3 is too many
	// b-0 tainted: true
}
