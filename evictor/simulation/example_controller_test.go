package simulation_test

import (
	"context"
	"fmt"
	"log"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// repairer is somebody's own controller: it replaces nodes that have not been Ready for five minutes.
type repairer struct {
	world *simulation.World
	since map[string]time.Time
}

// Step does what is due now and returns when to call it again.
func (r *repairer) Step(context.Context) (next time.Time, err error) {
	now, due := r.world.Clock().Now(), []string(nil)
	r.world.Clients().Nodes.Nodes(func(node *v1.Node) bool {
		since, known := r.since[node.Name]
		switch {
		case ready(node):
			delete(r.since, node.Name)
		case !known:
			r.since[node.Name] = now
			next = earlier(next, now.Add(5*time.Minute))
		case now.Sub(since) >= 5*time.Minute:
			due = append(due, node.Name)
		default:
			next = earlier(next, since.Add(5*time.Minute))
		}
		return true
	})
	for _, name := range due {
		delete(r.since, name)
		replace := &simulation.ReplaceNode{Nodes: simulation.Nodes{Names: []string{name}}, After: 2 * time.Minute}
		if err := r.world.Do(simulation.Event{ReplaceNode: replace}); err != nil {
			return next, err
		}
	}
	return next, nil
}

func ready(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Your own controller runs beside the evictor: how many evictions do repairs save?
func ExampleController() {
	scenario := simulation.Scenario{
		Zones: []simulation.Zone{{Name: "a", Nodes: 20, PodsPerNode: 10}},
		Events: []simulation.Event{
			{At: 5 * time.Minute, Fail: &simulation.Nodes{Zone: "a", Count: 5, Seed: 1}},
		},
		Until: time.Hour,
	}
	theEvictor := func(w *simulation.World) (simulation.Controller, error) { return w.NewEvictor(evictor.Options{}) }
	repairs := func(w *simulation.World) (simulation.Controller, error) {
		return &repairer{world: w, since: make(map[string]time.Time)}, nil
	}
	for _, controllers := range [][]simulation.Start{{theEvictor}, {theEvictor, repairs}} {
		report, err := simulation.Play(context.Background(), scenario, controllers...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d evicted, %d pods terminating at the end\n", report.Evicted, report.TerminatingAtEnd)
	}
	// Output:
	// 50 evicted, 50 pods terminating at the end
	// 10 evicted, 0 pods terminating at the end
}
