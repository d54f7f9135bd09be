package together

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
)

// If the condemned pod itself cannot be evicted after its group has left, the evictor must hear
// of it; otherwise it counts the pod as evicted and never tries again.
func TestTheCondemnedPodsOwnErrorIsReturned(t *testing.T) {
	g := newGroup()
	no := errors.New("unavailable")
	g.evict = func(pod cluster.PodRef) error {
		if pod == g.a {
			return no
		}
		return nil
	}
	require.ErrorIs(t, g.w.Evict(context.Background(), g.a, why), no)
	require.Equal(t, []string{"b", "c"}, g.evicted)
	g.evict = func(cluster.PodRef) error { return nil }
	require.NoError(t, g.w.Evict(context.Background(), g.a, why))
	require.Equal(t, []string{"b", "c", "a"}, g.evicted)
}

// Each act names the domain and node of the member that it is about.
func TestEachActHasItsOwnDomain(t *testing.T) {
	g := newGroup()
	var acts []string
	g.refuse = func(act gate.Act) error {
		switch act.Do {
		case gate.Harm:
			acts = append(acts, "harm "+act.Domain.Zone)
		case gate.Evict:
			require.Equal(t, act.Pod.Spec.NodeName, act.Node)
			acts = append(acts, "evict "+act.Domain.Zone)
			require.Equal(t, act.Node, act.Domain.Zone)
		}
		return nil
	}
	require.NoError(t, g.w.Evict(context.Background(), g.a, why))
	b, c, a := g.b.Node, g.c.Node, g.a.Node
	require.Equal(t, []string{"harm " + b, "evict " + b, "harm " + c, "evict " + c, "harm " + b, "harm " + c, "harm " + a}, acts)
}

// A pod that Group names twice is asked about once, and what is told has the condemned pod's deadline.
func TestWhatIsToldOfAGroup(t *testing.T) {
	g := newGroup()
	checked := map[string]int{}
	g.w.Check = func(_ context.Context, pod cluster.PodRef) error { checked[pod.Name]++; return nil }
	asked := 0
	g.refuse = func(act gate.Act) error {
		if act.Do == gate.Evict {
			asked++
		}
		return nil
	}
	require.NoError(t, g.w.Evict(context.Background(), g.a, why))
	require.Equal(t, 2, asked)
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, checked)
	require.Len(t, g.told, 2)
	for _, d := range g.told {
		require.Equal(t, why.At, d.Deadline)
	}
}

// The error says whose it is, and stays a refusal if it is one.
func TestAnErrorSaysWhoseItIs(t *testing.T) {
	for _, no := range []error{errors.New("unavailable"), &gate.Refused{Reason: "Night", Again: time.Unix(2000, 0), Pace: true}} {
		g := newGroup()
		g.evict = func(pod cluster.PodRef) error { return no }
		err := g.w.Evict(context.Background(), g.a, why)
		require.ErrorContains(t, err, "pod "+g.b.PodKey.String()+" of its group")
		var is *gate.Refused
		require.Equal(t, errors.As(no, new(*gate.Refused)), errors.As(err, &is))
	}
}

// A pod on a node that is gone is no member. If the condemned pod's own node goes, the others stay.
func TestANodeOfAGroupIsGone(t *testing.T) {
	g := newGroup()
	gone := &nodesWithout{stores: g.stores, name: g.b.Node}
	g.w.Nodes = gone
	require.NoError(t, g.w.Evict(context.Background(), g.a, why))
	require.Equal(t, []string{"c", "a"}, g.evicted)

	g = newGroup()
	gone = &nodesWithout{stores: g.stores}
	g.w.Nodes = gone
	g.evict = func(cluster.PodRef) error { gone.name = g.a.Node; return nil }
	var is *gate.Refused
	require.ErrorAs(t, g.w.Evict(context.Background(), g.a, why), &is)
	require.ErrorContains(t, is.Err, "gone")
	require.Equal(t, []string{"b"}, g.evicted)
}

// The condemned pod goes by itself after all others have left: the evictor is not told that it was evicted.
func TestTheCondemnedPodGoesByItself(t *testing.T) {
	g := newGroup()
	g.evict = func(pod cluster.PodRef) error {
		if pod == g.c {
			delete(g.pods, g.a.PodKey)
		}
		return nil
	}
	require.Error(t, g.w.Evict(context.Background(), g.a, why))
	require.Equal(t, []string{"b", "c"}, g.evicted)
}

type nodesWithout struct {
	*stores
	name string
}

func (n *nodesWithout) Node(name string) (*v1.Node, bool) {
	if name == n.name {
		return nil, false
	}
	return n.stores.Node(name)
}
