package twins

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/frontend"
	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/conformance/controllermanager"
)

// scene is a scenario, and which parts of its world upstream plays.
type scene struct {
	*cast
	file        *scenariofile.Scenario
	controllers []string // of upstream
	asks        []ask    // evictions that somebody asks for
	disrupts    bool     // see controllermanager.Manager
	recorder    *recorder
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
	lines, err := s.play(context.Background(), s.scenario(), newEvictor, s.asking(evictOf))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// play plays the scenario, and returns what the recorder of an asker has written down.
func (s *scene) play(ctx context.Context, played simulation.Scenario, starts ...simulation.Start) ([]line, error) {
	ends := make(map[string]string)
	played.Timeline = func(l timeline.Line) error {
		if l.Kind == timeline.KindDrainEnd {
			ends[l.Node] = l.More
		}
		return nil
	}
	_, err := simulation.Play(ctx, played, starts...)
	lines := s.recorder.lines
	if s.kubectl() {
		lines = append(lines, s.ends(ends)...)
	}
	return lines, err
}

// asking is a Start of an asker, with the recorder of a play.
func (s *scene) asking(evict func(*simulation.World, *v1.Pod) error) simulation.Start {
	return func(w *simulation.World) (_ simulation.Controller, err error) {
		s.recorder, err = record(w)
		return &asker{recorder: s.recorder, asks: s.asks, wonders: s.file.Reschedule == nil, evict: func(p *v1.Pod) error { return evict(w, p) }}, err
	}
}

// newEvictor is a Start of the evictor, which plays on both sides.
func newEvictor(w *simulation.World) (simulation.Controller, error) {
	return w.NewEvictor(evictor.Options{})
}

// theirs plays upstream's parts in place of the World's.
func (s *scene) theirs(t *testing.T) (lines []line) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		played, c := s.scenario(), frontend.NewClock(true)
		played.Clock = c
		m, err := controllermanager.New(c, &played, s.controllers...)
		if err != nil {
			t.Error(err)
			return
		}
		m.Disrupts = s.disrupts
		evict := func(_ *simulation.World, p *v1.Pod) error { return m.Evict(p) }
		c.Lock()
		lines, err = s.play(m.With(context.Background()), played, m.Start, newEvictor, s.asking(evict))
		c.Unlock()
		m.Close()
		time.Sleep(time.Hour) // until all have ended
		if err != nil {
			t.Error(err)
		}
	})
	return lines
}

func (s *scene) kubectl() bool { return slices.Contains(s.controllers, "kubectl") }

// ends says how the drains have ended.
func (s *scene) ends(ends map[string]string) (lines []line) {
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
