package twins

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/outside"
)

// scene is a scenario, and which parts of its world upstream plays.
type scene struct {
	*cast
	file        *scenariofile.Scenario
	controllers []string // of upstream
	parts       outside.Parts
	asks        []ask // evictions that somebody asks for
	kubectl     bool  // plays the drains
	disrupts    bool  // see store
}

// scenario is what the World plays.
func (s *scene) scenario() simulation.Scenario {
	played, _ := s.file.Simulation(context.Background(), nil)
	played.Nodes, played.Pods, played.Objects = s.nodes, s.pods, s.objects
	return played
}

// ours plays the World as it is.
func (s *scene) ours(t *testing.T) []line {
	t.Helper()
	var r *recorder
	played, ends := s.scenario(), make(map[string]string)
	played.Timeline = func(l timeline.Line) error {
		if l.Kind == timeline.KindDrainEnd {
			ends[l.Node] = l.More
		}
		return nil
	}
	_, err := simulation.Play(context.Background(), played, newEvictor, func(w *simulation.World) (_ simulation.Controller, err error) {
		r, err = record(w)
		return &asker{recorder: r, asks: s.asks, wonders: s.file.Reschedule == nil, evict: func(p *v1.Pod) error { return evictOf(w, p) }}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.kubectl {
		r.lines = append(r.lines, s.ourEnds(ends)...)
	}
	return r.lines
}

// newEvictor is a Start of the evictor, which plays on both sides.
func newEvictor(w *simulation.World) (simulation.Controller, error) {
	return w.NewEvictor(evictor.Options{})
}

// theirs plays upstream's parts in place of the World's.
func (s *scene) theirs(t *testing.T) (lines []line) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		played, c, parts := s.scenario(), newClock(), s.parts
		played.Clock = c
		var people *people
		if s.kubectl {
			people = newPeople(&played)
		}
		c.mu.Lock()
		var r *recorder
		var f *face
		_, err := simulation.Play(outside.With(ctx, &parts), played, func(w *simulation.World) (_ simulation.Controller, err error) {
			if r, err = record(w); err != nil {
				return nil, err
			}
			f = newFace(w, &parts, c, played.ReplaceAfter)
			f.disrupts = s.disrupts
			if err := s.begin(ctx, f); err != nil {
				return nil, err
			}
			people.begin(ctx, f)
			return f, nil // first, as the World schedules before its controllers act
		}, newEvictor, func(*simulation.World) (simulation.Controller, error) {
			return &asker{recorder: r, asks: s.asks, evict: f.evictOf}, nil
		})
		c.mu.Unlock()
		cancel()
		sleep(time.Hour) // until all have ended
		if err != nil {
			t.Error(err)
			return
		}
		lines = append(r.lines, people.ends(s.file.Until)...)
	})
	return lines
}

// begin shows the world's objects, and starts upstream's controllers.
func (s *scene) begin(ctx context.Context, f *face) error {
	for _, object := range s.all() {
		f.add(object)
	}
	if err := f.clients.Source.Feed(f); err != nil {
		return err
	}
	api, err := newEvictionAPI(f.client())
	if err != nil {
		return err
	}
	f.asks = api.asks
	client := f.client()
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, name := range s.controllers {
		run, err := controllers[name](ctx, client, factory)
		if err != nil {
			return err
		}
		defer func() { go run() }()
	}
	factory.Start(ctx.Done())
	f.mu.Unlock()
	synctest.Wait() // until the controllers need not wait for their caches
	f.mu.Lock()
	go func() { // a fake clientset remembers every request
		for ctx.Err() == nil {
			sleep(time.Minute)
			client.ClearActions()
		}
	}()
	return nil
}

// ourEnds says how the World's drains have ended.
func (s *scene) ourEnds(ends map[string]string) (lines []line) {
	for _, node := range drained(s.file.Events) {
		how := "over"
		if ends[node] != "" {
			how = "refused"
		}
		for _, other := range []string{"givenUp", "forced", "unfinished"} {
			if strings.Contains(ends[node], other) {
				how = other
			}
		}
		lines = append(lines, line{s.file.Until, "drained: " + how, "", node, ""})
	}
	return lines
}
