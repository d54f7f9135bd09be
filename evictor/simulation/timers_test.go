package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/taints"
)

// timer is a clock with one timer of a controller. It stops where that has acted.
type timer struct {
	now, at time.Time
	act     func()
}

func (c *timer) Now() time.Time                  { return c.now }
func (c *timer) Since(t time.Time) time.Duration { return c.now.Sub(t) }
func (c *timer) SetTime(t time.Time) {
	if c.now = t; c.act == nil || c.at.After(t) {
		return
	}
	act := c.act
	c.now, c.act = c.at, nil
	act()
}

// What a controller does by a timer of its own has its consequences at their time, whatever happens next in the world.
func TestAControllersOwnTimer(t *testing.T) {
	for name, c := range map[string]struct {
		events    []simulation.Event
		at        time.Duration
		evicted   []string
		scheduled []string
	}{
		"a replacement": {nil, 61 * time.Second, []string{"1m1s a web-0"}, []string{"1m11s c web-0-r1"}},
		"a slow write": {
			[]simulation.Event{{API: &simulation.API{State: simulation.APISlow, Latency: 2 * time.Second}}}, 61 * time.Second,
			[]string{"1m3s a web-0"}, []string{"1m13s c web-0-r1"},
		},
		"just before the end": {nil, 20*time.Minute - 10*time.Second, []string{"19m50s a web-0"}, []string{"20m0s c web-0-r1"}},
	} {
		s, clock := failing(), &timer{now: simulation.Epoch, at: simulation.Epoch.Add(c.at)}
		s.Events, s.Clock = c.events, clock
		_, lines := play(t, s, func(w *simulation.World) (simulation.Controller, error) {
			clock.act = func() {
				ref := evictor.PodRef{PodKey: evictor.PodKey{Namespace: "default", Name: "web-0"}, Node: "a"}
				pod, _ := w.Clients().Pods.Pod(ref.PodKey)
				ref.UID = pod.UID
				require.NoError(t, w.Clients().PodWriter.Evict(context.Background(), ref, taints.Deadline{}))
			}
			return simulation.StepFunc(func(context.Context) (time.Time, error) { return time.Time{}, nil }), nil
		})
		require.Equal(t, c.evicted, of(lines, "evict"), name)
		require.Equal(t, c.scheduled, of(lines, "schedule"), name)
	}
}
