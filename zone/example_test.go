package zone_test

import (
	"fmt"
	"time"

	"github.com/evictkit/evictkit/zone"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Set members as you see them; Evaluate returns what changed.
func Example() {
	zones, err := zone.New[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	evaluate := func(what string) {
		fmt.Println(what)
		for _, c := range zones.Evaluate(noon) {
			fmt.Printf("  %s: %s to %s, %d of %d bad, rate %g, all down %v\n",
				c.Zone, c.From, c.State, c.Counts.Bad, c.Counts.Total, c.Rate, c.AllDown)
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
	//   r1:a: Initial to Normal, 0 of 4 bad, rate 0.1, all down false
	//   r1:b: Initial to Normal, 0 of 2 bad, rate 0.1, all down false
	// one node down
	// three of four
	//   r1:a: Normal to PartialDisruption, 3 of 4 bad, rate 0, all down false
	// a zone is lost
	//   r1:a: PartialDisruption to FullDisruption, 4 of 4 bad, rate 0.1, all down false
	// or is it we who are cut off?
	//   r1:a: FullDisruption to FullDisruption, 4 of 4 bad, rate 0, all down true
	//   r1:b: Normal to FullDisruption, 2 of 2 bad, rate 0, all down true
	// somebody is back
	//   r1:a: FullDisruption to FullDisruption, 4 of 4 bad, rate 0.1, all down false
	//   r1:b: FullDisruption to Normal, 1 of 2 bad, rate 0.1, all down false
}

// This policy makes the default one stricter: while more than a fifth of the whole cluster is down, it starts no new
// evictions. Neither does it in a zone that is wholly down.
func ExamplePolicyFunc() {
	pools, err := zone.New[int](zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		ruling := zone.DefaultPolicy().Decide(s)
		if s.Cluster.Bad*5 > s.Cluster.Total || ruling.State == zone.FullDisruption {
			ruling.Rate = 0
		}
		return ruling
	}))
	if err != nil {
		panic(err)
	}
	for i := 0; i < 10; i++ {
		pools.Set(i, zone.Key{Zone: "spot"}, zone.Member{Ready: i > 1})
	}
	fmt.Println(pools.Evaluate(noon)[0].Rate)
	pools.Set(9, zone.Key{Zone: "spot"}, zone.Member{})
	fmt.Println(pools.Evaluate(noon)[0].Rate)
	// Output:
	// 0.1
	// 0
}

// limits is how many bad machines each health check allows: a policy that differs from domain to domain.
type limits map[string]int

func (l limits) Decide(s zone.Situation) zone.Ruling {
	if s.Counts.Bad > l[s.Zone.Zone] {
		return zone.Ruling{State: zone.PartialDisruption}
	}
	return zone.Ruling{State: zone.Normal, Rate: 1}
}

// Each domain can have its own limit.
func ExamplePolicy() {
	checks, err := zone.New[string](limits{"workers": 1, "gpus": 0})
	if err != nil {
		panic(err)
	}
	for _, machine := range []string{"w-1", "w-2", "w-3"} {
		checks.Set(machine, zone.Key{Zone: "workers"}, zone.Member{Ready: machine != "w-3"})
	}
	checks.Set("g-1", zone.Key{Zone: "gpus"}, zone.Member{})
	checks.Set("g-2", zone.Key{Zone: "gpus"}, zone.Member{Ready: true})
	for _, c := range checks.Evaluate(noon) {
		fmt.Println(c.Zone.Zone, c.State, c.Rate)
	}
	// Output:
	// gpus PartialDisruption 0
	// workers Normal 1
}

// patient waits until a zone has been well for ten minutes. It remembers since when each zone has been.
type patient map[zone.Key]time.Time

func (p patient) Decide(s zone.Situation) zone.Ruling {
	const quiet = 10 * time.Minute
	ruling := zone.DefaultPolicy().Decide(s)
	if s.State == zone.FullDisruption {
		p[s.Zone] = s.Now
	}
	if since, was := p[s.Zone]; was && ruling.State == zone.Normal && s.Now.Sub(since) < quiet {
		ruling.Rate, ruling.AskAfter = 0, quiet-s.Now.Sub(since)
	}
	return ruling
}

// Time alone changes this policy's ruling. So the policy says when to ask again, and Next says when to evaluate.
func ExampleTracker_Next() {
	zones, err := zone.New[int](patient{})
	if err != nil {
		panic(err)
	}
	lost := zone.Key{Zone: "a"}
	zones.Set(1, lost, zone.Member{})
	zones.Set(2, zone.Key{Zone: "b"}, zone.Member{Ready: true})
	zones.Evaluate(noon)
	zones.Set(1, lost, zone.Member{Ready: true})
	fmt.Println(zones.Evaluate(noon)[0].Rate)

	next, _ := zones.Next(noon)
	fmt.Println(next.Format(time.TimeOnly), zones.Evaluate(next)[0].Rate)
	// Output:
	// 0
	// 12:10:00 0.1
}

// Excluded members belong to a zone and may be evicted, but do not count.
func ExampleExcluded() {
	zones, err := zone.New[string](zone.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	labels := map[string]string{"node.kubernetes.io/exclude-disruption": ""}
	zones.Set("n", zone.KeyOf(labels), zone.Member{Excluded: zone.Excluded(labels)})
	change := zones.Evaluate(noon)[0]
	fmt.Println(change.State, change.Counts.Total, change.Rate)
	// Output: Normal 0 0.1
}

// KeyOf makes the key from labels. Kubernetes' own string of it has a zero byte between colons.
func ExampleKeyOf() {
	key := zone.KeyOf(map[string]string{"topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "a"})
	fmt.Printf("%s %q\n", key, key.Region+":\x00:"+key.Zone)
	// Output: r1:a "r1:\x00:a"
}

// Exactly 11 of 20 is 0.55. In a disrupted zone above the large size, evictions go slowly; in smaller ones they stop.
func ExampleDisruptionPolicy() {
	policy := zone.DefaultPolicy()
	for _, counts := range []zone.Counts{{Total: 20, Bad: 10}, {Total: 20, Bad: 11}, {Total: 60, Bad: 33}, {Total: 20, Bad: 20}, {Total: 3, Bad: 2}} {
		ruling := policy.Decide(zone.Situation{Status: zone.Status{Counts: counts}})
		fmt.Println(counts.Bad, "of", counts.Total, ruling.State, ruling.Rate)
	}
	// Output:
	// 10 of 20 Normal 0.1
	// 11 of 20 PartialDisruption 0
	// 33 of 60 PartialDisruption 0.01
	// 20 of 20 FullDisruption 0.1
	// 2 of 3 Normal 0.1
}
