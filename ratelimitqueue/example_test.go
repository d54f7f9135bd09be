package ratelimitqueue_test

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

type cluster struct{ Name, Region string }

var noon = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// Pace anything by key.
func Example() {
	clk := testingclock.NewFakePassiveClock(noon)
	queue, err := ratelimitqueue.New[string, cluster](ratelimitqueue.Config{Rate: rate.Every(10 * time.Second), Clock: clk})
	if err != nil {
		fmt.Println(err) // all faults of the configuration
		return
	}
	for _, c := range []cluster{{"blue", "r1"}, {"green", "r1"}, {"blue", "r2"}} {
		fmt.Println(c.Name, "is new:", queue.Add(c.Name, c) == ratelimitqueue.Unknown)
	}
	failover := func(c cluster) error { return errors.New("no answer from " + c.Region) }
	for range 2 {
		for item, ok := queue.Take(); ok; item, ok = queue.Take() {
			if err := failover(item.Value); err != nil { // nothing is locked here
				fmt.Println(clk.Now().Format(time.TimeOnly), item.Key, err)
				item.RetryAfter(time.Minute)
				continue
			}
			item.Done() // known until Remove: it is not handed out twice
		}
		if next, ok := queue.Next(); ok {
			clk.SetTime(next)
		}
	}
	fmt.Println("again at", clk.Now().Format(time.TimeOnly))
	// Output:
	// blue is new: true
	// green is new: true
	// blue is new: false
	// 12:00:00 blue no answer from r2
	// 12:00:10 green no answer from r1
	// again at 12:01:00
}

// Rate 0 holds everything and forgets nothing.
func ExampleQueue_SetRate() {
	clk := testingclock.NewFakePassiveClock(noon)
	queue, _ := ratelimitqueue.New[string, int](ratelimitqueue.Config{Rate: 1, Clock: clk})
	queue.Add("a", 1)
	queue.SetRate(0)
	_, taken := queue.Take()
	_, some := queue.Next()
	fmt.Println(taken, some, queue.Len())
	queue.SetRate(1)
	next, _ := queue.Next()
	fmt.Println(next.Sub(clk.Now()))
	// Output:
	// false false 1
	// 1s
}

// One queue and one rate for each zone. A node whose zone label changes moves to the other queue, and keeps its place.
func ExampleGroup() {
	clk := testingclock.NewFakePassiveClock(noon)
	group, err := ratelimitqueue.NewGroup[string, string, string](ratelimitqueue.GroupConfig[string, string]{
		Config: ratelimitqueue.Config{Rate: rate.Every(10 * time.Second), Clock: clk}, // of a zone, until SetRate
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	group.SetRate("zone-a", rate.Every(10*time.Second))
	group.Add("zone-a", "node-1", "uid-1")
	group.Add("zone-b", "node-2", "uid-2")
	fmt.Println(group.Move("node-2", "zone-a"))
	for next, ok := group.Next(); ok; next, ok = group.Next() {
		clk.SetTime(next)
		zone, item, _ := group.Take()
		fmt.Println(clk.Now().Format(time.TimeOnly), "taint", item.Key, "of", zone)
		item.Done()
	}
	// Output:
	// true
	// 12:00:00 taint node-1 of zone-a
	// 12:00:10 taint node-2 of zone-a
}

// Package zone says how fast, a Group keeps to it. Of four nodes two fail, and go ten seconds apart, but not while a third
// one has failed: that is too much of a zone at once. It is after n1 has come back that n2 and n3 go.
func ExampleGroup_zones() {
	clk := testingclock.NewFakePassiveClock(noon)
	zones, _ := zone.New[string](zone.DefaultPolicy())
	failed, _ := ratelimitqueue.NewGroup[zone.Key, string, int](ratelimitqueue.GroupConfig[zone.Key, string]{
		Config: ratelimitqueue.Config{Rate: 0.1, Clock: clk},
	})
	nodes := []struct{ fails, returns int }{{1, 60}, {1, 999}, {5, 999}, {999, 999}}
	for second := range 90 {
		for i, n := range nodes {
			name, ready := fmt.Sprint("n", i+1), second < n.fails || second >= n.returns
			zones.Set(name, zone.Key{}, zone.Member{Ready: ready})
			if ready {
				failed.Remove(name)
			} else {
				failed.Add(zone.Key{}, name, i) // it is there once, however often it is added
			}
		}
		for _, change := range zones.Evaluate(clk.Now()) {
			fmt.Println(clk.Now().Format(time.TimeOnly), change.State, change.Rate)
			failed.SetRate(change.Zone, rate.Limit(change.Rate))
		}
		for _, item, ok := failed.Take(); ok; _, item, ok = failed.Take() {
			fmt.Println(clk.Now().Format(time.TimeOnly), "taint", item.Key)
			item.Done()
		}
		clk.SetTime(clk.Now().Add(time.Second))
	}
	// Output:
	// 12:00:00 Normal 0.1
	// 12:00:01 taint n1
	// 12:00:05 PartialDisruption 0
	// 12:01:00 Normal 0.1
	// 12:01:10 taint n2
	// 12:01:20 taint n3
}
