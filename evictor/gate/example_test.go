package gate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// Not at night. A pod that has to wait holds back neither its node's turn nor its neighbours.
func Example() {
	now := time.Date(2030, 1, 1, 23, 0, 0, 0, time.UTC)
	hours := gate.Func(func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Evict && now.Hour() >= 22 {
			return &gate.Refused{Reason: "Night", Again: time.Date(2030, 1, 2, 6, 0, 0, 0, time.UTC)}
		}
		return nil
	})
	var pause gate.Pause
	all := gate.All(hours, &pause)

	fmt.Println(all.May(context.Background(), gate.Act{Do: gate.Evict}))
	pause.Pause("INC-7")
	fmt.Println(all.May(context.Background(), gate.Act{Do: gate.Harm, Domain: zone.Key{Zone: "a"}}))
	fmt.Println(all.May(context.Background(), gate.Act{Do: gate.Write}))
	// Output:
	// Night
	// paused: INC-7
	// <nil>
}

// A program that lost its lease writes nothing, and one whose breaker trips in a zone harms nobody there.
func ExampleAll() {
	lost := errors.New("the lease is lost")
	leads := func() error { return lost }
	trips := func(domain zone.Key) error {
		if domain.Zone == "a" {
			return errors.New("zone a is being repaired")
		}
		return nil
	}
	all := gate.All(gate.Leader(leads), gate.Breaker(trips))
	fmt.Println(all.May(context.Background(), gate.Act{Do: gate.Write}))
	lost = nil
	fmt.Println(all.May(context.Background(), gate.Act{Do: gate.Write}))
	fmt.Println(all.May(context.Background(), gate.Act{Do: gate.Harm, Domain: zone.Key{Zone: "a"}}))
	// Output:
	// the lease is lost
	// <nil>
	// zone a is being repaired
}
