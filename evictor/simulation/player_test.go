package simulation

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

func ptr[T any](v T) *T { return &v }

// named selects nodes by name.
func named(names ...string) *Nodes { return &Nodes{Names: names} }

// configured changes the default configuration.
func configured(change func(*evictor.Config)) evictor.Config {
	c := evictor.DefaultConfig()
	change(&c)
	return c
}

// checked plays a scenario without objects and without controllers, and returns its faults.
func checked(s Scenario) error { return checkedOn(newCluster(clockOf(nil)), s) }

// checkedOn plays one on a cluster that has objects.
func checkedOn(c *cluster, s Scenario) error {
	_, err := s.playOn(context.Background(), c, func(*World) (Controller, error) {
		return StepFunc(func(context.Context) (time.Time, error) { return time.Time{}, nil }), nil
	})
	var invalid invalidError
	if errors.As(err, &invalid) {
		return invalid
	}
	return err
}

// play plays a scenario and returns its timeline as text.
func play(t *testing.T, s Scenario) ([]string, *Report) {
	t.Helper()
	return playOn(t, newCluster(clockOf(nil)), s)
}

// playOn does so on a cluster that has objects already.
func playOn(t *testing.T, c *cluster, s Scenario, controllers ...Start) ([]string, *Report) {
	t.Helper()
	var lines []string
	s.Timeline = func(l timeline.Line) error {
		lines = append(lines, string(l.AppendJSON(nil)))
		return nil
	}
	r, err := s.playOn(context.Background(), c, controllers...)
	require.NoError(t, err)
	return lines, r
}

// observing starts the evictor that acts by default, and shows its decisions.
func observing(nodes func(evictor.NodeDecision), pods func(evictor.PodDecision)) Start {
	return func(w *World) (Controller, error) {
		return w.NewEvictor(evictor.Options{Observer: evictor.Observe(nodes, pods)})
	}
}

// 1.0001s and 1.0005s are both printed as 1.000.
func TestLinesThatPrintTheSameTimeAreSorted(t *testing.T) {
	c := newCluster(clockOf(nil))
	var got []timeline.Line
	s := &Scenario{Timeline: func(l timeline.Line) error { got = append(got, l); return nil }}
	p := &player{scenario: s, cluster: c, report: c.stats.Report, seen: map[string]struct{}{}}
	p.line(timeline.Line{T: 1000100 * time.Microsecond, Kind: timeline.KindZone})
	p.line(timeline.Line{T: 1000500 * time.Microsecond, Kind: timeline.KindCondition})
	p.flush()
	require.LessOrEqual(t, timeline.Compare(got[0], got[1]), 0, "%s", []string{string(got[0].AppendJSON(nil)), string(got[1].AppendJSON(nil))})
}

// A fault that only the run finds names its event too: here the pod is still terminating when it is added again.
func TestEventThatFailsInTheRunIsNumbered(t *testing.T) {
	_, err := Play(context.Background(), Scenario{
		Zones: []Zone{{Name: "a", Nodes: 3}},
		Events: []Event{
			{At: 3 * time.Minute, AddPod: &AddPod{Name: "x", Node: "a-001"}},
			{At: time.Minute, AddPod: &AddPod{Name: "x", Node: "a-000"}},
			{At: time.Minute, Fail: named("a-000")},
			{At: 2 * time.Minute, DeletePod: &Pod{Name: "x"}},
		},
		Until:        5 * time.Minute,
		ReplaceAfter: -1,
	})
	require.EqualError(t, err, "simulation: event 1 (at 3m0s): addPod: pod default/x already exists")
	require.NotEmpty(t, Faults(err))
}

// A name that never exists is told of before anything happens, with all others.
func TestMistypedNamesDoNotWait(t *testing.T) {
	s := sound()
	s.Events = []Event{
		{At: 50 * time.Minute, AddNode: &AddNode{Name: "new", Zone: "new"}},
		{At: 51 * time.Minute, Fail: named("new", "knew")},
		{At: 52 * time.Minute, Recover: &Nodes{Zone: "knew"}},
		{At: 53 * time.Minute, AddPod: &AddPod{Name: "p", Node: "a-01"}},
	}
	s.Timeline = func(timeline.Line) error { return errors.New("something has happened") }
	require.EqualError(t, checked(s), `event 2 (at 51m0s): fail: node knew does not exist
event 3 (at 52m0s): recover: zone "knew" does not exist: the zones are "c", "r1:a", "r1:b"
event 4 (at 53m0s): addPod: node a-01 does not exist`)
}
