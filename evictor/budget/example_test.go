package budget_test

import (
	"errors"
	"fmt"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/budget"
)

// machine is what a repair controller knows about a machine.
type machine struct {
	pool  string
	ready bool
}

// A controller repairs machines that are not ready: two at a time, and none in a pool with more than a fifth broken.
func Example() {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b, err := budget.New(budget.Config[string, machine]{
		Dimensions: map[string]func(machine) (string, bool){
			"pool": func(m machine) (string, bool) { return m.pool, m.pool != "" },
		},
		Bad:        func(m machine) bool { return !m.ready },
		Actionable: func(m machine) bool { return !m.ready },
		Bounds: []budget.Bound{
			{Name: "most of a pool is well", Per: "pool", Of: budget.Bad, Max: budget.Percent(20).Up()},
			{Name: "two at a time", Of: budget.Acting, Max: budget.Count(2)},
		},
		Clock: clock,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 20 {
		b.Set(fmt.Sprintf("a-%02d", i), machine{pool: "a", ready: i > 2})
		b.Set(fmt.Sprintf("b-%02d", i), machine{pool: "b", ready: i > 4})
	}
	for _, name := range []string{"a-00", "a-01", "a-02", "b-00"} {
		reservation, err := b.Reserve(name)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		// Replace the machine here. If that fails, call reservation.GiveBack().
		fmt.Println(name, "repaired", reservation.Commit())
	}
	// Output:
	// a-00 repaired true
	// a-01 repaired true
	// a-02 budget "two at a time" allows at most 2: 3 is too many
	// b-00 budget "most of a pool is well" allows at most 4 in pool "b": 5 is too many
}

// A breaker: once more than three machines are broken, it allows no repair until at most three have been broken for ten
// minutes.
func ExampleBound_breaker() {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b, _ := budget.New(budget.Config[string, machine]{
		Bad: func(m machine) bool { return !m.ready },
		Bounds: []budget.Bound{{
			Name: "storm", Of: budget.Bad, Max: budget.Count(3), Quiet: 10 * time.Minute,
		}},
		Clock: clock,
	})
	storm := func(broken int) {
		for i := range 10 {
			b.Set(fmt.Sprint("m", i), machine{ready: i >= broken})
		}
		reservation, err := b.Reserve("m0")
		reservation.GiveBack()
		var refusal *budget.Refusal
		switch {
		case err == nil:
			fmt.Println(clock.Now().Format("15:04"), broken, "broken: repaired")
		case errors.As(err, &refusal) && !refusal.Again.IsZero():
			fmt.Println(clock.Now().Format("15:04"), broken, "broken: asked again at", refusal.Again.Format("15:04"))
		default:
			fmt.Println(clock.Now().Format("15:04"), broken, "broken: left to people")
		}
	}
	storm(1)
	storm(4)
	clock.Step(5 * time.Minute)
	storm(2)
	clock.Step(10 * time.Minute)
	storm(1)
	// Output:
	// 00:00 1 broken: repaired
	// 00:00 4 broken: left to people
	// 00:05 2 broken: asked again at 00:15
	// 00:15 1 broken: repaired
}

// A trial: replace one machine first, then more while that helps, and one again after a failure.
func ExampleBudget_Judge() {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b, _ := budget.New(budget.Config[string, machine]{
		Bounds: []budget.Bound{{
			Name: "one first", Of: budget.Unproven, Max: budget.Count(10), Within: time.Hour, Unjudged: budget.Failed,
			Cooldown: 5 * time.Minute, MaxCooldown: time.Hour, Quiet: 6 * time.Hour,
		}},
		Clock: clock,
	})
	for i := range 10 {
		b.Set(fmt.Sprint("m", i), machine{})
	}
	next := 0
	replace := func() {
		for {
			reservation, err := b.Reserve(fmt.Sprint("m", next))
			if err != nil {
				fmt.Println(err)
				return
			}
			reservation.Commit()
			fmt.Println("replacing", fmt.Sprint("m", next))
			next++
		}
	}
	replace()
	b.Judge("m0", budget.Proved) // its replacement has joined
	replace()
	b.Judge("m1", budget.Proved)
	b.Judge("m2", budget.Failed)
	replace()
	clock.Step(5 * time.Minute)
	replace()
	// Output:
	// replacing m0
	// budget "one first" allows at most 1: 2 is too many
	// replacing m1
	// replacing m2
	// budget "one first" allows at most 2: 3 is too many
	// budget "one first" cools down after a failure
	// replacing m3
	// budget "one first" allows at most 1: 2 is too many
}

// pool is the dimension of the examples below.
var pool = map[string]func(machine) (string, bool){"pool": func(m machine) (string, bool) { return m.pool, m.pool != "" }}

func broken(m machine) bool { return !m.ready }

// tell adds machines, of which the first are broken, and asks about the first one.
func tell(b *budget.Budget[string, machine], name string, total, bad int) {
	for i := range total {
		b.Set(fmt.Sprintf("%s-%02d", name, i), machine{pool: name, ready: i >= bad})
	}
	reservation, err := b.Reserve(name + "-00")
	reservation.GiveBack()
	fmt.Println(name, bad, "of", total, "broken:", err)
}

// Karpenter's rule: no more than a fifth of a pool may be broken, rounded up. For machines without a pool, it is a
// fifth of all machines.
func ExampleConfig_karpenter() {
	b, _ := budget.New(budget.Config[string, machine]{
		Dimensions: pool,
		Bad:        broken,
		Actionable: broken, // for long enough
		Bounds: []budget.Bound{
			{Name: "a fifth of a pool", Per: "pool", Of: budget.Bad, Max: budget.Percent(20).Up()},
			{Name: "a fifth of all", Without: "pool", Of: budget.Bad, Max: budget.Percent(20).Up()},
		},
	})
	tell(b, "a", 11, 3)
	tell(b, "b", 11, 4)
	tell(b, "", 8, 1)
	// Output:
	// a 3 of 11 broken: <nil>
	// b 4 of 11 broken: budget "a fifth of a pool" allows at most 3 in pool "b": 4 is too many
	//  1 of 8 broken: budget "a fifth of all" allows at most 6: 8 is too many
}

// Cluster API's unhealthyRange [1-3]: remediate up to three machines, and leave a larger failure to people.
func ExampleConfig_clusterAPI() {
	b, _ := budget.New(budget.Config[string, machine]{
		Bad:        broken, // members that are about to be actionable count too
		Actionable: broken, // for long enough
		Bounds:     []budget.Bound{{Name: "unhealthyRange", Of: budget.Bad, Min: budget.Count(1), Max: budget.Count(3)}},
	})
	tell(b, "a", 20, 3)
	tell(b, "b", 20, 1)
	// Output:
	// a 3 of 20 broken: <nil>
	// b 1 of 20 broken: budget "unhealthyRange" allows at most 3: 4 is too many
}
