package tainteviction_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// Alone, nodes are not watched, written or reported. Our own taints are like foreign ones: they wait for no rate and no
// grace period, and a pause holds them back.
func TestAlone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	for _, node := range []string{"a-0", "a-1", "a-2"} {
		c.AddPod("p-"+node, node, evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	}
	unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	c.Taint("a-0", unreachable) // before it starts
	told, pause, clients := map[tainteviction.Kind]int{}, &gate.Pause{}, c.Clients()
	e, err := tainteviction.New(tainteviction.DefaultConfig(), tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Source: clients.Source}, tainteviction.Options{
		Clock: c.Clock(), Gate: pause, Observer: func(d tainteviction.Decision) { told[d.Kind]++ },
	})
	require.NoError(t, err)
	pause.Changed = e.Kick
	c.Drive(func(ctx context.Context) (time.Time, error) { return e.Step(ctx) })
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"p-a-0"}, c.Evicted(), "and nobody minds that all are silent")
	require.False(t, c.HasNoExecute("a-1"))
	require.True(t, c.HasNoExecute("a-0"), "it is not ours to lift")
	require.Equal(t, map[tainteviction.Kind]int{tainteviction.EvictionArmed: 1, tainteviction.PodEvicted: 1}, told)

	c.Taint("a-1", unreachable)
	c.Taint("a-2", unreachable)
	c.Advance(30 * time.Second)
	pause.Pause("upgrade")
	c.Untaint("a-2", unreachable.Key, unreachable.Effect)
	c.Advance(time.Minute)
	require.Equal(t, []string{"p-a-0"}, c.Evicted())
	pause.Resume("upgrade")
	c.Advance(0)
	require.Equal(t, []string{"p-a-0", "p-a-1"}, c.Evicted(), "at once")
	require.Equal(t, map[tainteviction.Kind]int{
		tainteviction.EvictionArmed: 3, tainteviction.EvictionDelayed: 1, tainteviction.EvictionCancelled: 1, tainteviction.PodEvicted: 2,
	}, told)
}

// visited is a store of pods that may hold a lock while it is visited.
type visited struct {
	cluster.PodStore
	visiting bool
}

func (s *visited) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.visiting = true
	defer func() { s.visiting = false }()
	s.PodStore.PodsOnNode(node, visit)
}

// judging wants each eviction, and notes who is overdue.
type judging struct {
	t       *testing.T
	pods    *visited
	overdue []string
}

func (j *judging) Own(string) cluster.Own {
	require.False(j.t, j.pods.visiting)
	return cluster.Own{Wanted: true}
}

func (j *judging) Overdue(node string) {
	require.False(j.t, j.pods.visiting)
	j.overdue = append(j.overdue, node)
}

// Whoever gives verdicts has a lock, under which the stores are read: he is asked and told of nothing while a store is visited,
// which may hold its own.
func TestVerdictsAreNotAskedDuringAVisit(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	c.Taint("a-0", v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Hour) // all are overdue when it starts
	clients := clientsOf(c)
	verdicts := &judging{t: t, pods: &visited{PodStore: clients.Pods}}
	clients.Pods, clients.Verdicts = verdicts.pods, verdicts
	drive(t, c, clients, tainteviction.Options{})
	c.Advance(time.Second)
	require.Equal(t, []string{"a-0"}, verdicts.overdue, "once for all of them")
	require.Equal(t, []string{"a-0-p0", "a-0-p1"}, c.Evicted(), "Own says that nobody waits for a turn")
}
