package simulation

import (
	"context"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// recorded makes a recording of a value a minute.
func recorded(t *testing.T, scale int, alive ...int) *recording {
	f := newFaults()
	r := newRecording(f, &Trace{Gap: time.Minute, Alive: alive, Scale: scale})
	require.NoError(t, f.invalid())
	return r
}

func TestWhichValueOfATraceHolds(t *testing.T) {
	r := recorded(t, 0, 16, 15, 0)
	for at, want := range map[time.Duration]int{-1: 0, 0: 0, time.Minute - 1: 0, time.Minute: 1, 2 * time.Minute: 2, math.MaxInt64: 2} {
		require.Equal(t, want, r.index(at), at)
	}
}

func TestHowManyNodesATraceKeepsAlive(t *testing.T) {
	share, zero := recorded(t, 0, 16, 3), recorded(t, 0, 0)
	for _, test := range []struct {
		trace              *recording
		sample, size, want int
	}{
		{share, 16, 508, 508},
		{share, 0, 508, 0},
		{share, 15, 100, 94}, // 93.75
		{share, 1, 100, 6},   // 6.25
		{share, 1, 8, 1},     // 0.5: half up
		{share, 3, 8, 2},     // 1.5
		{share, 5, 8, 3},     // 2.5
		{share, 5, 0, 0},
		{zero, 0, 8, 0},
		{recorded(t, 10, 16), 5, 100, 50},
		{recorded(t, 10, 16), 16, 100, 100},
		{recorded(t, 10, 16), 10, 100, 100},
		{recorded(t, 10, 16), 0, 100, 0},
		{recorded(t, 10, 16), 3, 0, 0},
		{recorded(t, math.MaxInt, 16), 16, 100, 100},
	} {
		require.Equal(t, test.want, test.trace.alive(test.sample, test.size), "%+v", test)
	}
}

func TestFaultsOfTraces(t *testing.T) {
	faultsOf := func(trace *Trace) error {
		f := newFaults()
		require.Nil(t, newRecording(f, trace))
		return f.invalid()
	}
	require.EqualError(t, faultsOf(&Trace{Scale: -1}), "gap: 0s is not a positive number of whole seconds\nalive: there are no values\nscale: -1 is negative")
	require.EqualError(t, faultsOf(&Trace{Gap: time.Second / 2, Alive: []int{1, -1, -2}}), "gap: 500ms is not a positive number of whole seconds\nalive: value 1 (from 0) is -1, outside 0…2147483647")
	require.Error(t, faultsOf(&Trace{Gap: time.Second, Alive: []int{math.MaxInt}}))
}

func TestSamplesAfterTheEndOfTime(t *testing.T) {
	f := newFaults()
	trace := newRecording(f, &Trace{Gap: 5_000_000_000 * time.Second, Alive: []int{1, 1, 1, 1, 0}}) // every 158 years
	require.NoError(t, f.invalid())
	d := driver{trace: trace}
	d.drive(nil, 0)
	require.Negative(t, d.at)
}

// A node that somebody moves into a zone that a trace drives belongs to that zone from then on, and one that is moved
// out does not.
func TestATraceDrivesTheNodesOfItsZone(t *testing.T) {
	for _, moves := range []struct {
		node, to      string
		nodes, silent int
	}{
		{"b-000", "a", 3, 3},
		{"a-000", "b", 1, 1},
	} {
		s := Scenario{
			Zones:  []Zone{{Name: "a", Nodes: 2}, {Name: "b", Nodes: 2}},
			Traces: []Trace{{Zone: "a", Gap: time.Minute, Alive: []int{2, 0}}},
			Until:  3 * time.Minute,
		}
		moved := false
		r, err := Play(context.Background(), s, func(w *World) (Controller, error) {
			return StepFunc(func(context.Context) (time.Time, error) {
				if moved {
					return time.Time{}, nil
				}
				moved = true
				n, _ := w.Clients().Nodes.Node(moves.node)
				n = n.DeepCopy()
				n.Labels = maps.Clone(n.Labels)
				n.Labels[v1.LabelTopologyZone] = moves.to
				return time.Time{}, w.Update(n)
			}), nil
		})
		require.NoError(t, err)
		require.Equal(t, moves.nodes, r.Zones[0].Nodes, "nodes of zone a at the end")
		require.Equal(t, moves.silent, r.KubeletFailures, "all nodes of zone a fall silent at 1m")
	}
}

// A zone that its last node has left, for another, is one of which an event may speak: nobody is there.
func TestAZoneThatItsLastNodeHasLeft(t *testing.T) {
	s := Scenario{
		Zones:  []Zone{{Name: "a", Nodes: 1}, {Name: "b", Nodes: 1}},
		Events: []Event{{At: time.Minute, Fail: &Nodes{Zone: "b"}}},
		Until:  3 * time.Minute,
	}
	r, err := Play(context.Background(), s, func(w *World) (Controller, error) {
		return StepFunc(func(context.Context) (time.Time, error) {
			n, _ := w.Clients().Nodes.Node("b-000")
			n = n.DeepCopy()
			n.Labels = map[string]string{v1.LabelTopologyZone: "a"}
			return time.Time{}, w.Update(n)
		}), nil
	})
	require.NoError(t, err)
	require.Zero(t, r.KubeletFailures)
}
