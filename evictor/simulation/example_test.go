package simulation_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/zone"
)

// lostZone is the scenario of the example of Play.
func lostZone() simulation.Scenario {
	return simulation.Scenario{
		Zones: []simulation.Zone{
			{Name: "a", Nodes: 20, PodsPerNode: 10}, {Name: "b", Nodes: 20, PodsPerNode: 10}, {Name: "c", Nodes: 20, PodsPerNode: 10},
		},
		Events: []simulation.Event{
			{At: 5 * time.Minute, Fail: &simulation.Nodes{Zone: "a"}},
			{At: 20 * time.Minute, Recover: &simulation.Nodes{Zone: "a"}},
		},
		Until: time.Hour,
	}
}

// A zone is lost. How many pods are evicted, when, and did it help?
func ExamplePlay() {
	report, err := simulation.Play(context.Background(), simulation.Scenario{
		Zones: []simulation.Zone{
			{Name: "a", Nodes: 20, PodsPerNode: 10}, {Name: "b", Nodes: 20, PodsPerNode: 10}, {Name: "c", Nodes: 20, PodsPerNode: 10},
		},
		Events: []simulation.Event{
			{At: 5 * time.Minute, Fail: &simulation.Nodes{Zone: "a"}},
			{At: 20 * time.Minute, Recover: &simulation.Nodes{Zone: "a"}},
		},
		Until: time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("evicted:", report.Evicted, "of", report.Pods, "from", report.FirstEviction, "to", report.LastEviction)
	fmt.Println("in the last ten minutes before their nodes were back:", report.EvictedBeforeReturn)
	fmt.Printf("pod-hours lost: %.1f\n", report.PodHoursLost)
	for _, w := range report.Workloads {
		fmt.Printf("%s/%s: at %v %d of %d pods lived\n", w.Kind, w.Name, w.LowestAt, w.LowestReady, w.Desired)
	}
	// Output:
	// evicted: 200 of 600 from 10m45s to 13m55s
	// in the last ten minutes before their nodes were back: 200
	// pod-hours lost: 25.0
	// ReplicaSet/a: at 5m0s 0 of 200 pods lived
	// ReplicaSet/b: at 0s 200 of 200 pods lived
	// ReplicaSet/c: at 0s 200 of 200 pods lived
}

// Would a higher rate help? The scenario of the example of Play, with two settings.
func ExamplePlay_settings() {
	for _, rate := range []float64{0.1, 1} {
		scenario := lostZone()
		scenario.Config = evictor.DefaultConfig()
		scenario.Config.Nodes.NodeEvictionRate = rate
		report, err := simulation.Play(context.Background(), scenario)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.1f nodes a second: %d evicted, at the latest %v after the silence began, %.1f pod-hours lost\n", rate, report.Evicted, report.EvictionDelayWorst, report.PodHoursLost)
	}
	// Output:
	// 0.1 nodes a second: 200 evicted, at the latest 8m55s after the silence began, 25.0 pod-hours lost
	// 1.0 nodes a second: 200 evicted, at the latest 6m8s after the silence began, 20.5 pod-hours lost
}

// Your own policy: a zone that is lost as a whole is left alone, because it usually comes back as a whole. One node is
// evicted before the policy sees that, because kubelets renew at different times.
func ExampleWorld_NewEvictor() {
	patient := zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		ruling := zone.DefaultPolicy().Decide(s)
		if ruling.State == zone.FullDisruption {
			ruling.Rate = 0
		}
		return ruling
	})
	report, err := simulation.Play(context.Background(), lostZone(), func(w *simulation.World) (simulation.Controller, error) {
		return w.NewEvictor(evictor.Options{Policy: patient})
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("evicted:", report.Evicted)
	// Output:
	// evicted: 10
}

// A Gate that lets five nodes be tainted, and an observer that prints its refusals.
func ExampleWorld_Clock() {
	report, err := simulation.Play(context.Background(), lostZone(), func(w *simulation.World) (simulation.Controller, error) {
		turns, refused := 0, 0
		few := gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do != gate.Turn {
				return nil
			}
			if turns == 5 {
				return &gate.Refused{Reason: "five nodes are enough", Again: w.Clock().Now().Add(time.Hour)}
			}
			turns++
			return nil
		})
		return w.NewEvictor(evictor.Options{Gate: few, Observer: evictor.Observe(func(d evictor.NodeDecision) {
			if d.Kind == nodelifecycle.TurnRefused {
				if refused++; refused == 1 {
					fmt.Println(explain.Node(d))
				}
			}
		}, nil)})
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("evicted:", report.Evicted)
	// Output:
	// 00:06:35 node a-005: its turn is refused: five nodes are enough
	// evicted: 50
}
