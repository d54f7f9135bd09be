package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/internal/outside"
)

// TestOthersPlayParts: pods that others create come to nodes as the world's own do and count alike, whether they are created after
// the deletion of those in whose places they come, or when it is about to begin. What others do not create, or withdraw, is missing.
func TestOthersPlayParts(t *testing.T) {
	parts := &outside.Parts{Workloads: true, Drain: func(outside.Drain) {}}
	name := func(pod string) types.NamespacedName { return types.NamespacedName{Namespace: "default", Name: pod} }
	pod := func(name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	did := 0
	steps := []func() error{
		func() error {
			parts.Delete(name("a-000-p0"))
			return parts.Create(pod("x"), "a-000-p0", time.Minute, 0)
		},
		func() error {
			defer parts.Delete(name("a-000-p1"))
			return parts.Create(pod("y"), "a-000-p1", time.Minute, 0)
		},
		func() error {
			parts.Delete(name("a-001-p0"))
			return parts.Create(pod("z"), "a-001-p0", time.Minute, 0)
		},
		func() error { parts.Withdraw(name("z")); return nil },
		func() error {
			parts.Delete(name("a-001-p1"))
			parts.DrainEnds("a-000", simulation.DrainGivenUp, "why")
			return nil
		},
	}
	var lines []string
	scenario := simulation.Scenario{
		Zones: []simulation.Zone{{Name: "a", Nodes: 2, PodsPerNode: 2}}, Until: time.Hour,
		Events: []simulation.Event{{At: time.Minute, Drain: &simulation.Drain{Nodes: simulation.Nodes{Names: []string{"a-000"}}}}},
		Timeline: func(l timeline.Line) error {
			if l.Kind == timeline.KindSchedule || l.Kind == timeline.KindDrainEnd {
				lines = append(lines, string(l.AppendJSON(nil)))
			}
			return nil
		},
	}
	acts := func(w *simulation.World) (simulation.Controller, error) {
		return simulation.StepFunc(func(context.Context) (time.Time, error) {
			for ; w.Clock().Since(simulation.Epoch) >= time.Minute && did < len(steps); did++ {
				if err := steps[did](); err != nil {
					return time.Time{}, err
				}
			}
			return time.Time{}, nil
		}), nil
	}
	r, err := simulation.Play(outside.With(context.Background(), parts), scenario, acts)
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"t":60.000,"kind":"drainEnd","node":"a-000","ended":"givenUp","pods":0}`,
		`{"t":70.000,"kind":"schedule","node":"a-001","pod":"x","was":"a-000-p0"}`,
		`{"t":70.000,"kind":"schedule","node":"a-001","pod":"y","was":"a-000-p1"}`,
	}, lines)
	require.Equal(t, 2, r.ReturnedPods)
	require.Equal(t, 1, r.Waiting)
	require.Equal(t, 1, r.DrainsGivenUp)
	require.Equal(t, 4, r.Workloads[0].Desired)
	require.Equal(t, 2, r.Workloads[0].ReadyAtEnd)

	no := false
	scenario.Events[0].Drain.Wait = &no
	_, err = simulation.Play(outside.With(context.Background(), parts), scenario, acts)
	require.ErrorContains(t, err, "event 1: drain: wait: kubectl drain always waits")
}
