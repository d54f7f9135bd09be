package evictor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// These are the programs of EXTENDING.md. Each plays on a cluster in virtual time, in which one node fails.

// A gate: no pod leaves at night.
func Example_gate() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	clock := cluster.Clock()
	night := gate.Func(func(_ context.Context, act gate.Act) error {
		now := clock.Now()
		if act.Do != gate.Evict || now.Hour() >= 6 {
			return nil
		}
		morning := time.Date(now.Year(), now.Month(), now.Day(), 6, 0, 0, 0, now.Location())
		return &gate.Refused{Reason: "Night", Again: morning}
	})
	cluster.Start(evictor.DefaultConfig(), evictor.Options{Gate: night})
	cluster.Fail("a-0") // at midnight
	cluster.Advance(6*time.Hour - time.Second)
	fmt.Println(cluster.Evicted())
	cluster.Advance(time.Second)
	fmt.Println(cluster.Evicted())
	// Output:
	// []
	// [a-0-p0]
}

// An observer: how long each node was silent before it was called so.
func Example_observer() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	silence := evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.NodeVerdict && d.Silence > 0 {
			fmt.Printf("%s was silent for %s, in zone %s\n", d.Node, d.Silence, d.Zone)
		}
	}, nil) // the second function would be told about pods
	cluster.Start(evictor.DefaultConfig(), evictor.Options{Observer: silence})
	cluster.Fail("a-0")
	cluster.Advance(2 * time.Minute)
	// Output:
	// a-0 was silent for 55s, in zone :a
}

// failover is a writer around another: before a pod of a database leaves, another one takes over.
type failover struct {
	nodelifecycle.PodWriter                               // marks pods as before
	promote                 func(pod string) (ready bool) // asks the database, and may be asked again
}

func (f failover) Evict(ctx context.Context, pod evictor.PodRef, why taints.Deadline) error {
	if !f.promote(pod.Name) {
		return &gate.Refused{Reason: "Failover"} // not now: asked again, at growing intervals
	}
	return f.PodWriter.Evict(ctx, pod, why)
}

// A writer around another.
func Example_writer() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	asked := 0
	promote := func(pod string) (ready bool) {
		asked++
		fmt.Println("promote instead of", pod)
		return asked == 3
	}
	clients := cluster.Clients()
	clients.PodWriter = failover{clients.PodWriter, promote}
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: cluster.Clock()})
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster.Drive(e.Step)
	cluster.Fail("a-0")
	cluster.Advance(10 * time.Minute)
	fmt.Println(cluster.Evicted())
	// Output:
	// promote instead of a-0-p0
	// promote instead of a-0-p0
	// promote instead of a-0-p0
	// [a-0-p0]
}

// A policy: nothing is tainted in a zone of which more than a third is down.
func Example_policy() {
	cautious := zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		ruling := zone.DefaultPolicy().Decide(s) // upstream's
		if 3*s.Counts.Bad > s.Counts.Total {     // Total is 0 if all are excluded
			ruling.Rate = 0
		}
		return ruling
	})
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 6), evictortest.Zone("b", 6))
	cluster.Start(evictor.DefaultConfig(), evictor.Options{Policy: cautious})
	cluster.Fail("a-0", "a-1", "a-2", "b-0")
	cluster.Advance(5 * time.Minute)
	fmt.Println(cluster.HasNoExecute("a-0"), cluster.HasNoExecute("b-0"))
	// Output:
	// false true
}
