package rollout_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/examples/rollout"
)

// night is a pool of eight nodes with the old image, and machines that need ten minutes each.
type night struct {
	*evictortest.Cluster
	t        *testing.T
	operator *rollout.Operator
	ready    map[string]time.Time
	most     int // nodes that were tainted at once
}

func newNight(t *testing.T) *night {
	old := evictortest.NodeLabels(func(string) map[string]string { return runs("v1") })
	n := &night{
		Cluster: evictortest.New(t, evictortest.Zone("a", 8), evictortest.PodsPerNode(2), old),
		t:       t, ready: map[string]time.Time{},
	}
	n.start("v2")
	n.Drive(func(ctx context.Context) (time.Time, error) { return n.operator.Step(ctx) })
	n.Drive(n.machines)
	return n
}

func runs(image string) map[string]string {
	return map[string]string{rollout.Pool: "web", rollout.Image: image}
}

// start begins a process with the evictor and the operator, in place of the one before. Midnight is when a Cluster starts.
func (n *night) start(image string) {
	budget, err := rollout.NewBudget(n.Clock())
	require.NoError(n.t, err)
	n.operator = &rollout.Operator{Clients: n.Clients(), Budget: budget, Clock: n.Clock(), Image: image, Opens: 1, Closes: 2, Replace: n.replace}
	n.Start(evictor.DefaultConfig(), evictor.Options{Budget: budget})
}

func (n *night) replace(node string) error {
	require.Empty(n.t, n.pods(node), "it is empty by then")
	if _, begun := n.ready[node]; !begun {
		n.ready[node] = n.Clock().Now().Add(10 * time.Minute)
	}
	return nil
}

func (n *night) machines(context.Context) (next time.Time, err error) {
	for node, at := range n.ready {
		if !n.Clock().Now().Before(at) {
			n.LabelNode(node, runs(n.operator.Image))
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	n.most = max(n.most, len(n.tainted()))
	return next, nil
}

func (n *night) pods(node string) (names []string) {
	n.Clients().Pods.PodsOnNode(node, func(pod *v1.Pod) bool { names = append(names, pod.Name); return true })
	return names
}

func (n *night) tainted() []string {
	return n.nodes(func(node *v1.Node) bool {
		return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == rollout.Taint.Key })
	})
}

func (n *night) replaced() []string {
	return n.nodes(func(node *v1.Node) bool { return node.Labels[rollout.Image] == n.operator.Image })
}

func (n *night) nodes(which func(*v1.Node) bool) (names []string) {
	n.Clients().Nodes.Nodes(func(node *v1.Node) bool {
		if which(node) {
			names = append(names, node.Name)
		}
		return true
	})
	slices.Sort(names)
	return names
}

// TestTwoAtATimeAndOnlyAtNight: nothing begins before one o'clock or after two. What has begun by then is finished.
func TestTwoAtATimeAndOnlyAtNight(t *testing.T) {
	n := newNight(t)
	n.Advance(59 * time.Minute)
	require.Empty(t, n.tainted())
	n.Advance(2 * time.Minute)
	require.Equal(t, []string{"a-0", "a-1"}, n.tainted())
	n.Advance(2 * time.Hour)
	require.Equal(t, 2, n.most)
	require.Empty(t, n.tainted())
	require.Len(t, n.replaced(), 8)
}

// TestWhatHasFailedCounts: while one node is silent, only one more may go.
func TestWhatHasFailedCounts(t *testing.T) {
	n := newNight(t)
	n.Advance(30 * time.Minute)
	n.Fail("a-7")
	n.Advance(40 * time.Minute)
	require.Equal(t, []string{"a-0"}, n.tainted())
	require.Equal(t, []string{"a-7-p0", "a-7-p1"}, n.EvictedFrom("a-7"), "the evictor goes on")
	n.Advance(2 * time.Hour)
	require.Equal(t, 1, n.most)
}

// TestARestartForgetsNothing: what the process before has begun counts, and is finished.
func TestARestartForgetsNothing(t *testing.T) {
	n := newNight(t)
	n.Advance(65 * time.Minute)
	require.Equal(t, []string{"a-0", "a-1"}, n.tainted())
	n.start("v2")
	n.Advance(time.Minute)
	require.Equal(t, []string{"a-0", "a-1"}, n.tainted())
	n.Advance(2 * time.Hour)
	require.Equal(t, 2, n.most)
	require.Len(t, n.replaced(), 8)
}

// TestAnotherImage: a new image comes while two nodes are being replaced and others have been. It waits for these two, and
// reaches all nodes.
func TestAnotherImage(t *testing.T) {
	n := newNight(t)
	n.Advance(80 * time.Minute)
	require.Equal(t, []string{"a-2", "a-3"}, n.tainted())
	n.start("v3")
	n.Advance(24 * time.Hour)
	require.Equal(t, 2, n.most)
	require.Len(t, n.replaced(), 8)
}

// TestAPoolThatIsLost: the budget stops the operator, and not the evictor.
func TestAPoolThatIsLost(t *testing.T) {
	n := newNight(t)
	n.Fail("a-1", "a-5", "a-6")
	n.Advance(30 * time.Minute)
	require.Len(t, n.Evicted(), 6)
	n.Advance(2 * time.Hour)
	require.Empty(t, n.tainted())
	require.Zero(t, n.most, "the pool has lost more than a quarter")
}
