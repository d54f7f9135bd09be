package zone_test

import (
	"fmt"
	"strings"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/zone"
)

// Set members as you see them; Evaluate returns what changed.
func Example() {
	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	evaluate := func(what string) {
		fmt.Println(what)
		for _, c := range zones.Evaluate() {
			fmt.Printf("  %s: %s to %s, %d of %d bad, rate %g, cluster %s\n",
				c.Zone, c.From, c.To, c.Counts.Bad, c.Counts.Total, c.Rate, c.Cluster)
		}
	}
	set := func(z string, ready ...bool) {
		labels := map[string]string{"topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": z}
		for i, ready := range ready {
			zones.Set(fmt.Sprintf("%s-%d", z, i), zone.KeyOf(labels), zone.Member{Ready: ready})
		}
	}

	set("a", true, true, true, true)
	set("b", true, true)
	evaluate("all is well")
	set("a", false, true, true, true)
	evaluate("one node down")
	set("a", false, false, false, true)
	evaluate("three of four")
	set("a", false, false, false, false)
	evaluate("a zone is lost")
	set("b", false, false)
	evaluate("or is it we who are cut off?")
	set("b", true, false)
	evaluate("somebody is back")

	// Output:
	// all is well
	//   r1:a: Initial to Normal, 0 of 4 bad, rate 0.1, cluster None
	//   r1:b: Initial to Normal, 0 of 2 bad, rate 0.1, cluster None
	// one node down
	// three of four
	//   r1:a: Normal to PartialDisruption, 3 of 4 bad, rate 0, cluster None
	// a zone is lost
	//   r1:a: PartialDisruption to FullDisruption, 4 of 4 bad, rate 0.1, cluster None
	// or is it we who are cut off?
	//   r1:a: FullDisruption to FullDisruption, 4 of 4 bad, rate 0, cluster Entered
	//   r1:b: Normal to FullDisruption, 2 of 2 bad, rate 0, cluster Entered
	// somebody is back
	//   r1:a: FullDisruption to FullDisruption, 4 of 4 bad, rate 0.1, cluster Left
	//   r1:b: FullDisruption to Normal, 1 of 2 bad, rate 0.1, cluster Left
}

// This policy makes the default one stricter: while more than a fifth of the whole cluster is down, it starts no new
// evictions.
func ExamplePolicyFunc() {
	pools, err := zone.New[int](zone.Config[string]{Policy: zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		ruling := zone.DefaultPolicy().Decide(s)
		if s.Cluster.Bad*5 > s.Cluster.Total {
			ruling.Rate = 0
		}
		return ruling
	})})
	if err != nil {
		panic(err)
	}
	for i := 0; i < 10; i++ {
		pools.Set(i, "spot", zone.Member{Ready: i > 1})
	}
	fmt.Println(pools.Evaluate()[0].Rate)
	pools.Set(9, "spot", zone.Member{})
	change := pools.Evaluate()[0]
	fmt.Println(change.Rate)
	// Output:
	// 0.1
	// 0
}

// Each domain can have its own policy: here, the number of bad machines that a health check allows. After an edit of
// the health check, Reconsider makes the next Evaluate ask again.
func ExampleConfig() {
	maxUnhealthy := map[string]int{"workers": 1, "gpus": 0}
	checks, err := zone.New[string](zone.Config[string]{
		Policy: zone.DefaultPolicy(),
		PolicyOf: func(check string) zone.Policy {
			return zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
				if s.Counts.Bad > maxUnhealthy[check] {
					return zone.Ruling{State: zone.PartialDisruption}
				}
				return zone.Ruling{State: zone.Normal, Rate: 1}
			})
		},
		Compare: strings.Compare,
	})
	if err != nil {
		panic(err)
	}
	for _, machine := range []string{"w-1", "w-2", "w-3"} {
		checks.Set(machine, "workers", zone.Member{Ready: machine != "w-3"})
	}
	checks.Set("g-1", "gpus", zone.Member{})
	checks.Set("g-2", "gpus", zone.Member{Ready: true})
	tell := func() {
		for _, c := range checks.Evaluate() {
			fmt.Println(c.Zone, c.To, c.Rate)
		}
	}
	tell()
	maxUnhealthy["gpus"] = 1
	checks.Reconsider()
	tell()
	// Output:
	// gpus PartialDisruption 0
	// workers Normal 1
	// gpus Normal 1
}

// After a disruption, this policy waits until the domain has been quiet for ten minutes. Time alone changes the ruling,
// so the policy says when to ask again, and Next says when to evaluate.
func ExampleTracker_Next() {
	const quiet = 10 * time.Minute
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	zones, err := zone.New[int](zone.Config[zone.Key]{Clock: clk, Policy: zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		ruling := zone.DefaultPolicy().Decide(s)
		calm, before := s.In(ruling.State)
		if ruling.State == zone.Normal && before == zone.FullDisruption && calm < quiet {
			ruling.Rate, ruling.AskAfter = 0, quiet-calm
		}
		return ruling
	})})
	if err != nil {
		panic(err)
	}
	lost := zone.Key{Zone: "a"}
	zones.Set(1, lost, zone.Member{})
	zones.Set(2, zone.Key{Zone: "b"}, zone.Member{Ready: true})
	zones.Evaluate()
	zones.Set(1, lost, zone.Member{Ready: true})
	fmt.Println(zones.Evaluate()[0].Rate)

	next, _ := zones.Next()
	clk.SetTime(next)
	fmt.Println(next.Format(time.TimeOnly), zones.Evaluate()[0].Rate)
	// Output:
	// 0
	// 12:10:00 0.1
}

// Excluded members belong to a zone and may be evicted, but do not count.
func ExampleExcluded() {
	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	labels := map[string]string{"node.kubernetes.io/exclude-disruption": ""}
	zones.Set("n", zone.KeyOf(labels), zone.Member{Excluded: zone.Excluded(labels)})
	change := zones.Evaluate()[0]
	fmt.Println(change.To, change.Counts.Total, change.Rate)
	// Output: Normal 0 0.1
}

// KeyOf makes the key from labels. ZoneKey is upstream's string, for maps and metrics with the old names.
func ExampleKeyOf() {
	key := zone.KeyOf(map[string]string{"topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "a"})
	fmt.Printf("%s %q %q\n", key, key.ZoneKey(), zone.KeyOf(nil).ZoneKey())
	// Output:
	// r1:a "r1:\x00:a" ""
}

// Exactly 11 of 20 is 0.55. In a disrupted zone above the large size, evictions go slowly; in smaller ones they stop.
func ExampleDisruptionPolicy() {
	policy := zone.DefaultPolicy()
	for _, counts := range []zone.Counts{{Total: 20, Bad: 10}, {Total: 20, Bad: 11}, {Total: 60, Bad: 33}, {Total: 20, Bad: 20}, {Total: 3, Bad: 2}} {
		ruling := policy.Decide(zone.Situation{Counts: counts})
		fmt.Println(counts.Bad, "of", counts.Total, ruling.State, ruling.Rate)
	}
	// Output:
	// 10 of 20 Normal 0.1
	// 11 of 20 PartialDisruption 0
	// 33 of 60 PartialDisruption 0.01
	// 20 of 20 FullDisruption 0.1
	// 2 of 3 Normal 0.1
}
