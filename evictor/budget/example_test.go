package budget_test

import (
	"errors"
	"fmt"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/budget"
)

// machine is what a repair controller knows of one.
type machine struct {
	pool  string
	ready bool
}

// A controller repairs machines that are not ready: two at a time, and none of a pool of which more than a fifth is broken.
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
		// Here the machine is replaced. Where that fails, reservation.GiveBack().
		fmt.Println(name, "repaired", reservation.Commit())
	}
	// Output:
	// a-00 repaired true
	// a-01 repaired true
	// a-02 budget: two at a time: 3, at most 2 allowed
	// b-00 budget: most of a pool is well of pool "b": 5, at most 4 allowed
}

// A breaker: when more than three machines are broken at once, nothing is done until there were at most one for ten minutes.
func ExampleBound_breaker() {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b, _ := budget.New(budget.Config[string, machine]{
		Bad: func(m machine) bool { return !m.ready },
		Bounds: []budget.Bound{{
			Name: "storm", Of: budget.Bad, Max: budget.Count(3), Resume: budget.Count(1), Quiet: 10 * time.Minute,
		}},
		Clock: clock,
	})
	tell := func(broken int) {
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
	tell(1)
	tell(4)
	tell(2)
	clock.Step(5 * time.Minute)
	tell(1)
	clock.Step(10 * time.Minute)
	tell(1)
	// Output:
	// 00:00 1 broken: repaired
	// 00:00 4 broken: left to people
	// 00:00 2 broken: left to people
	// 00:05 1 broken: asked again at 00:15
	// 00:15 1 broken: repaired
}
