package zone_test

import (
	"fmt"

	"github.com/evictkit/evictkit/zone"
)

// Members are Set as they are seen; Evaluate returns what that changed.
func Example() {
	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	evaluate := func(what string) {
		fmt.Println(what)
		for _, c := range zones.Evaluate() {
			fmt.Printf("  %s: %s to %s, %d of %d bad, rate %g to %g, cluster %s\n",
				c.Zone, c.From, c.To, c.Counts.Bad, c.Counts.Total, c.PreviousRate, c.Rate, c.Cluster)
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
	//   r1:a: Initial to Normal, 0 of 4 bad, rate 0 to 0.1, cluster None
	//   r1:b: Initial to Normal, 0 of 2 bad, rate 0 to 0.1, cluster None
	// one node down
	// three of four
	//   r1:a: Normal to PartialDisruption, 3 of 4 bad, rate 0.1 to 0, cluster None
	// a zone is lost
	//   r1:a: PartialDisruption to FullDisruption, 4 of 4 bad, rate 0 to 0.1, cluster None
	// or is it we who are cut off?
	//   r1:a: FullDisruption to FullDisruption, 4 of 4 bad, rate 0.1 to 0, cluster Entered
	//   r1:b: Normal to FullDisruption, 2 of 2 bad, rate 0.1 to 0, cluster Entered
	// somebody is back
	//   r1:a: FullDisruption to FullDisruption, 4 of 4 bad, rate 0 to 0.1, cluster Left
	//   r1:b: FullDisruption to Normal, 1 of 2 bad, rate 0 to 0.1, cluster Left
}

// oneFifth lets nodes be replaced at a steady rate while at most a fifth of the whole cluster is down.
type oneFifth struct{ rate float64 }

func (p oneFifth) State(c zone.Counts) zone.State {
	return zone.DefaultPolicy().State(c)
}

func (p oneFifth) Rate(s zone.Situation) float64 {
	if s.Cluster.Bad*5 > s.Cluster.Total {
		return 0
	}
	return p.rate
}

// A policy of one's own is two pure methods. This one looks at the whole cluster.
func ExamplePolicy() {
	pools, err := zone.NewTracker[int](oneFifth{rate: 2})
	if err != nil {
		panic(err)
	}
	for i := 0; i < 10; i++ {
		pools.Set(i, zone.Key{Zone: "pool"}, zone.Member{Ready: i > 1})
	}
	fmt.Println(pools.Evaluate()[0].Rate)
	pools.Set(9, zone.Key{Zone: "pool"}, zone.Member{})
	fmt.Println(pools.Evaluate()[0].Rate)
	// Output:
	// 2
	// 0
}

// Excluded members belong to a zone, and may be evicted, but do not count.
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

// A snapshot is plain data; the tracker that restores it tells only what is new.
func ExampleTracker_Restore() {
	before, err := zone.NewTracker[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	before.Set("n", zone.Key{Zone: "a"}, zone.Member{Ready: true})
	fmt.Println(len(before.Evaluate()), "change")

	after, err := zone.NewTracker[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	if err := after.Restore(before.Snapshot()); err != nil {
		panic(err)
	}
	fmt.Println(len(after.Evaluate()), "changes")
	// Output:
	// 1 change
	// 0 changes
}
