package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// relisted is a store that can go back: it shows some objects as they were earlier, as after a relist from a stale
// cache.
type relisted struct {
	evictor.Clients
	nodes map[string]*v1.Node
	pods  map[evictor.PodKey]*v1.Pod
	back  bool
}

func (r *relisted) keepNode(name string) {
	n, _ := r.Clients.Nodes.Node(name)
	r.nodes[name] = n.DeepCopy()
}

func (r *relisted) keepPod(name string) {
	key := evictor.PodKey{Namespace: "default", Name: name}
	p, _ := r.Clients.Pods.Pod(key)
	r.pods[key] = p.DeepCopy()
}

func (r *relisted) Synced() bool { return true }

func (r *relisted) Nodes(visit func(*v1.Node) bool) { r.Clients.Nodes.Nodes(visit) }

func (r *relisted) Node(name string) (*v1.Node, bool) {
	if old, kept := r.nodes[name]; r.back && kept {
		return old, true
	}
	return r.Clients.Nodes.Node(name)
}

func (r *relisted) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	if old, kept := r.pods[key]; r.back && kept {
		return old, true
	}
	return r.Clients.Pods.Pod(key)
}

func (r *relisted) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	stop := false
	r.Clients.Pods.PodsOnNode(node, func(p *v1.Pod) bool {
		if _, kept := r.pods[evictor.PodKey{Namespace: p.Namespace, Name: p.Name}]; r.back && kept {
			return true
		}
		stop = !visit(p)
		return !stop
	})
	for _, p := range r.pods {
		if r.back && !stop && p.Spec.NodeName == node {
			stop = !visit(p)
		}
	}
}

// goBack begins or ends that, with the events of a relist.
func (r *relisted) goBack(e *evictor.Evictor, back bool) {
	r.back = back
	for name := range r.nodes {
		e.NodeChanged(name)
	}
	for key := range r.pods {
		e.PodChanged(key)
	}
}

func newRelisted(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, budgets ...*budget.Budget[string, evictor.Member]) (*relisted, byHand) {
	clients := c.Clients()
	r := &relisted{Clients: c.Clients(), nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}}
	clients.Nodes, clients.Pods = r, r
	return r, stepped(t, c, cfg, clients, budgets...)
}

// A taint that was seen removed evicts no pod if the store shows it once more, whatever makes the evictor look.
func TestTaintOfAnOlderVersionEvictsNobody(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			cfg := config()
			cfg.NodeMonitorPeriod = period
			c := evictortest.New(t, evictortest.Zone("a", 5))
			c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 20), v1.Toleration{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists})
			r, s := newRelisted(t, c, cfg)
			s.run(20 * time.Second)
			c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
			s.run(10 * time.Second)
			r.keepNode("a-0")
			c.Untaint("a-0", "drain", v1.TaintEffectNoExecute)
			s.run(5 * time.Second)
			r.goBack(s.e, true)
			if silent {
				c.Fail("a-0")
			}
			for range 30 {
				s.run(5 * time.Second)
				s.e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
				s.e.NodeChanged("a-0")
			}
			require.Empty(t, c.Evicted(), "silent %v, period %s", silent, period)
		}
	}
}

// An eviction that is due while the store shows an older version of its node waits until the store has caught up. What
// was seen since then counts.
func TestEvictionWaitsForAStoreThatWentBack(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 20))
	r, s := newRelisted(t, c, config())
	s.run(20 * time.Second)
	r.keepNode("a-0")
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	s.run(10 * time.Second)
	r.goBack(s.e, true)
	s.run(30 * time.Second)
	require.Empty(t, c.Evicted())
	require.Len(t, s.e.Evictions(), 1)
	r.goBack(s.e, false)
	s.run(2 * time.Second)
	require.Equal(t, []string{"p"}, c.Evicted())
}

// Tolerations in an older version of a pod do not count either.
func TestTolerationsOfAnOlderVersionDoNotCount(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 20))
	r, s := newRelisted(t, c, config())
	key := evictor.PodKey{Namespace: "default", Name: "p"}
	version := func(v string) *v1.Pod {
		p, _ := c.Clients().Pods.Pod(key)
		p = p.DeepCopy()
		p.ResourceVersion = v
		return p
	}
	old := version("9")
	c.Tolerate("p", evictortest.TolerateFor("drain", 60))
	r.pods[key] = version("10")
	r.goBack(s.e, true)
	s.run(5 * time.Second)
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}) // at 5
	s.run(10 * time.Second)
	r.pods[key] = old
	r.goBack(s.e, true)
	c.Taint("a-0", v1.Taint{Key: "more", Effect: v1.TaintEffectNoExecute}) // this lists its pods again
	c.Untaint("a-0", "more", v1.TaintEffectNoExecute)
	s.run(45 * time.Second)
	require.Empty(t, c.Evicted())
	require.Len(t, s.e.Evictions(), 1)
	r.pods[key] = version("11")
	r.goBack(s.e, true)
	s.run(10 * time.Second)
	require.Equal(t, []string{"65.000"}, times(says(c, `"evict"`)))
}

// A pod of a tainted node stays known while the store shows, on another node, the pod that had its name before: that one
// is not evicted, whatever makes the evictor look.
func TestPodThatHadTheNameBeforeIsNotEvicted(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	c.AddPod("p", "a-1")
	r, s := newRelisted(t, c, config())
	key := evictor.PodKey{Namespace: "default", Name: "p"}
	r.keepPod("p")
	old, later := r.pods[key], r.pods[key].DeepCopy()
	old.ResourceVersion = "9"
	later.UID, later.ResourceVersion, later.Spec.NodeName = "later", "10", "a-0"
	later.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	r.pods[key] = later
	r.goBack(s.e, true)
	s.run(5 * time.Second)
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	s.run(5 * time.Second)
	r.pods[key] = old
	r.goBack(s.e, true)
	c.Taint("a-0", v1.Taint{Key: "more", Effect: v1.TaintEffectNoExecute}) // this lists its pods again
	s.run(5 * time.Second)
	c.Taint("a-1", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	s.run(time.Minute)
	require.Empty(t, c.Evicted())
}

// goneEvictions counts the evictions of pods that the API server does not have.
type goneEvictions struct {
	evictor.PodWriter
	count int
}

func (g *goneEvictions) Evict(ctx context.Context, pod evictor.PodRef, why evictor.Decision) error {
	g.count++
	return apierrors.NewNotFound(v1.Resource("pods"), pod.Name)
}

// A pod that is gone is evicted once, however long the store shows it and whatever happens to its node.
func TestPodThatIsGoneIsEvictedOnce(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	c.AddPod("p", "a-0")
	clients := c.Clients()
	gone := &goneEvictions{PodWriter: clients.PodWriter}
	clients.PodWriter = gone
	s := stepped(t, c, config(), clients)
	s.run(5 * time.Second)
	for _, key := range []string{"drain", "more"} {
		c.Taint("a-0", v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute})
		s.run(5 * time.Second)
	}
	require.Equal(t, 1, gone.count)
}

// Nothing is remembered about pods on nodes without NoExecute taints, not even their versions: there are too many.
func TestTolerationsOfAnOlderVersionCountWhereNothingWasTainted(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 20))
	r, s := newRelisted(t, c, config())
	s.run(5 * time.Second)
	r.keepPod("p")
	c.Tolerate("p", evictortest.TolerateFor("drain", 60))
	s.run(5 * time.Second)
	r.goBack(s.e, true)
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}) // at 10
	s.run(30 * time.Second)
	require.Equal(t, []string{"30.000"}, times(says(c, `"evict"`)))
}

// Inspecting an evictor, or calling Explain, changes nothing.
func TestAskingChangesNothing(t *testing.T) {
	play := func(ask func(e *evictor.Evictor)) []string {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		e := c.Start(config())
		c.Fail("a-0", "a-1")
		for s := range 400 {
			if s == 100 {
				c.Recover("a-1")
			}
			ask(e)
			c.Advance(time.Second)
		}
		return c.Timeline()
	}
	quiet := play(func(*evictor.Evictor) {})
	require.NotEmpty(t, quiet)
	require.Equal(t, quiet, play(func(e *evictor.Evictor) {
		_, _ = e.Node("a-0")
		_, _, _ = e.Waiting(), e.Evictions(), e.Backlogs()
		_, _, _ = e.Explain("a-0"), e.Paused(), e.Zones()
	}))
}

// A node that fails while the store shows an older version of it counts in the budget at once, as in its zone.
func TestVerdictsCountInTheBudgetWhileTheStoreIsBehind(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := fast()
		cfg.NodeMonitorPeriod = period
		c := evictortest.New(t, evictortest.Zone("a", 8))
		b := newBudget(t, c, budget.Bound{Name: "no two at a time", Of: budget.Unavailable, Max: budget.Count(1)})
		r, s := newRelisted(t, c, cfg, b)
		s.run(10 * time.Second)
		r.keepNode("a-1")
		c.Cordon("a-1", true)
		s.run(10 * time.Second)
		r.goBack(s.e, true)
		c.Fail("a-0", "a-1")
		s.run(2 * time.Minute)
		require.Empty(t, tainted(c, "a", 8), "a-1 has failed, too")
		st, _ := b.Status("no two at a time", "")
		require.Equal(t, int64(2), st.Used)
		r.goBack(s.e, false)
		c.Recover("a-1")
		s.run(20 * time.Second)
		require.Equal(t, []string{"a-0"}, tainted(c, "a", 8))
	}
}
