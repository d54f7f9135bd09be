package tainteviction_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/internal/clockcases"
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

// answers are verdicts that say what the test says.
type answers struct{ own cluster.Own }

func (a *answers) Own(string) cluster.Own { return a.own }
func (*answers) Overdue(string)           {}

// Whoever gives verdicts may change his mind without a reason, and without telling anybody.
func TestVerdictsNeedNoReason(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 60)))
	verdicts := &answers{cluster.Own{Wanted: true}}
	clients := clientsOf(c)
	clients.Verdicts = verdicts
	var told []tainteviction.Kind
	drive(t, c, clients, tainteviction.Options{
		Observer: func(d tainteviction.Decision) { told = append(told, d.Kind) },
		OnPanic:  func(_, value any, _ []byte) { t.Errorf("%v", value) },
	})
	c.Taint("a-0", v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute})
	c.Advance(30 * time.Second)
	verdicts.own = cluster.Own{}
	c.Advance(time.Hour)
	require.Empty(t, c.Evicted())
	require.Equal(t, []tainteviction.Kind{tainteviction.EvictionArmed, tainteviction.EvictionCancelled}, told)
}

// A deadline that comes from the time of a taint, or of a pod, does not move when the wall clock is set.
func TestADeadlineOfATaintThatWasThere(t *testing.T) {
	for _, set := range []time.Duration{0, time.Hour, -time.Hour} {
		c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor("drain", 300)))
		added := metav1.NewTime(clockcases.Start.Add(-time.Minute))
		c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute, TimeAdded: &added})
		clk := clockcases.New(true)
		e, err := tainteviction.New(tainteviction.DefaultConfig(), clientsOf(c), tainteviction.Options{Clock: clk})
		require.NoError(t, err)
		step := func(passed time.Duration) []string {
			clk.Pass(passed)
			_, err := e.Step(context.Background())
			require.NoError(t, err)
			return c.Evicted()
		}
		require.Empty(t, step(0))
		require.Empty(t, step(time.Minute))
		clk.Set(set)
		e.NodeChanged("a-0")
		require.Empty(t, step(179*time.Second), set)
		require.Equal(t, []string{"a-0-p0"}, step(2*time.Second), set)
	}
}
