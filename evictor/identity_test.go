package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// A node that was deleted and recreated does not count as deleted again if the store shows the old one once more.
func TestOlderNodeOfTheSameNameIsIgnored(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5))
	r, s := newRelisted(t, c, config())
	s.run(20 * time.Second)
	r.keepNode("a-0")
	c.DeleteNode("a-0")
	s.run(10 * time.Second)
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.AddPod("p", "a-0", evictortest.TolerateFor("drain", 100))
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}) // at 30
	s.run(20 * time.Second)
	r.goBack(s.e, true)
	s.run(20 * time.Second)
	require.Len(t, s.e.Pods().Evictions(), 1, "nothing became of it")
	r.goBack(s.e, false)
	s.run(2 * time.Minute)
	require.Equal(t, []string{"130.000"}, times(says(c, `"evict"`)))
}

// If a node is deleted while it is written, what would follow is not tried, and what did not happen is not reported.
func TestNothingIsToldOfWritesOfANodeThatIsGone(t *testing.T) {
	for _, taints := range []bool{true, false} {
		for _, goes := range []string{"before", "amid"} {
			cfg := config()
			cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = taints, 45*time.Second
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			var tried []string
			var told diary
			c.FailWrites(func(write, object string) error {
				tried = append(tried, write+" "+object)
				if goes == "amid" && len(tried) == 1 {
					c.DeleteNode("a-0")
				}
				if goes == "before" { // and the store does not know it yet
					return apierrors.NewNotFound(v1.Resource("nodes"), object)
				}
				return nil
			})
			start(c, cfg, evictor.Options{Observer: &told})
			c.Fail("a-0")
			c.Advance(46 * time.Second)
			require.Equal(t, []string{"conditions a-0"}, tried, "taints %t, gone %s", taints, goes)
			for _, kind := range []kind{"ConditionsWritten", "TaintsWritten", "NodeEmptied", "PodEvicted", "PodMarkedNotReady", "WriteFailed"} {
				require.Empty(t, told.of(kind), "%s, taints %t, gone %s", kind, taints, goes)
			}
		}
	}
}

// unseen is a cluster whose store never changes what it shows of one node's pods. It counts the evictions.
func unseen(t *testing.T, cfg evictor.Config) (*evictortest.Cluster, *relisted, byHand, map[string]int) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	r, s := newRelisted(t, c, cfg)
	r.keepPod("a-0-p0")
	r.keepPod("a-0-p1")
	r.goBack(s.e, true)
	tries := map[string]int{}
	onWrites(c, "evict", func(object string) error {
		tries[object]++
		return nil
	})
	return c, r, s, tries
}

// A pod is evicted once for all reasons together, while the store does not show it leaving. Here its node is emptied
// and then somebody taints it, or the other way round.
func TestPodIsEvictedOnceForAllReasons(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	for _, taintAt := range []time.Duration{200 * time.Second, 310 * time.Second} {
		cfg := config()
		cfg.Nodes.TaintBasedEviction = false
		c, _, s, tries := unseen(t, cfg)
		c.Fail("a-0")
		s.run(taintAt)
		c.Taint("a-0", drain)
		s.run(10 * time.Minute)
		require.Equal(t, map[string]int{"default/a-0-p0": 1, "default/a-0-p1": 1}, tries)
	}
}

// Neither is it evicted again if its taint is removed and added again meanwhile, or its node is looked at. If an
// eviction fails it is tried again.
func TestPodIsEvictedOnceWhateverMakesTheEvictorLook(t *testing.T) {
	for name, row := range map[string]struct {
		cfg  evictor.Config
		harm func(c *evictortest.Cluster, s byHand)
	}{
		"our taint": {config(), func(c *evictortest.Cluster, _ byHand) { c.Fail("a-0") }},
		"no taint":  {withoutTaints(config(), time.Minute), func(c *evictortest.Cluster, _ byHand) { c.Fail("a-0") }},
		"a taint that comes back": {config(), func(c *evictortest.Cluster, s byHand) {
			for range 3 {
				c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
				s.run(10 * time.Second)
				c.Untaint("a-0", "drain", v1.TaintEffectNoExecute)
				s.run(10 * time.Second)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, s, tries := unseen(t, row.cfg)
			onWrites(c, "evict", func(object string) error {
				if object == "default/a-0-p1" && tries[object] < 3 {
					return errors.New("unavailable")
				}
				return nil
			})
			row.harm(c, s)
			for range 400 {
				s.run(time.Second)
				s.e.NodeChanged("a-0")
			}
			require.Equal(t, map[string]int{"default/a-0-p0": 1, "default/a-0-p1": 3}, tries)
		})
	}
}

// relisted is a store that can go back: it shows some objects as they were earlier, as after a relist from a stale
// cache.
type relisted struct {
	cluster.NodeStore
	cluster.PodStore
	nodes map[string]*v1.Node
	pods  map[evictor.PodKey]*v1.Pod
	back  bool
}

func (r *relisted) keepNode(name string) {
	n, _ := r.NodeStore.Node(name)
	r.nodes[name] = n.DeepCopy()
}

func (r *relisted) keepPod(name string) {
	key := evictor.PodKey{Namespace: "default", Name: name}
	p, _ := r.PodStore.Pod(key)
	r.pods[key] = p.DeepCopy()
}

func (r *relisted) Node(name string) (*v1.Node, bool) {
	if old, kept := r.nodes[name]; r.back && kept {
		return old, true
	}
	return r.NodeStore.Node(name)
}

func (r *relisted) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	if old, kept := r.pods[key]; r.back && kept {
		return old, true
	}
	return r.PodStore.Pod(key)
}

func (r *relisted) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	stop := false
	r.PodStore.PodsOnNode(node, func(p *v1.Pod) bool {
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
func (r *relisted) goBack(e *tested, back bool) {
	r.back = back
	for name := range r.nodes {
		e.NodeChanged(name)
	}
	for key := range r.pods {
		e.PodChanged(key)
	}
}

func newRelisted(t *testing.T, c *evictortest.Cluster, cfg evictor.Config) (*relisted, byHand) {
	clients := c.Clients()
	r := &relisted{NodeStore: clients.Nodes, PodStore: clients.Pods, nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}}
	clients.Nodes, clients.Pods = r, r
	return r, stepped(t, c, cfg, clients)
}

// A taint that was seen removed evicts no pod if the store shows it once more, whatever makes the evictor look.
func TestTaintOfAnOlderVersionEvictsNobody(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, cfg := range onBothGrids(config()) {
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
			for range 7 { // for less than a grace period
				s.run(5 * time.Second)
				s.e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
				s.e.NodeChanged("a-0")
			}
			require.Empty(t, c.Evicted(), "silent %v, every %s", silent, cfg.Nodes.NodeMonitorPeriod)
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
	require.Len(t, s.e.Pods().Evictions(), 1)
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
	require.Len(t, s.e.Pods().Evictions(), 1)
	r.pods[key] = version("11")
	r.goBack(s.e, true)
	s.run(10 * time.Second)
	require.Equal(t, []string{"65.000"}, times(says(c, `"evict"`)))
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
	play := func(ask func(e *tested)) []string {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		e := start(c, config())
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
	quiet := play(func(*tested) {})
	require.NotEmpty(t, quiet)
	require.Equal(t, quiet, play(func(e *tested) {
		_, _ = e.Nodes().Node("a-0")
		_, _, _ = e.Nodes().Waiting(), e.Pods().Evictions(), e.Nodes().AllZonesDown()
		_, _, _ = e.Explain("a-0"), e.Paused(), e.Nodes().Zones()
	}))
}

// A pod with the name of an evicted one is another pod, even if the store never showed the first one gone.
func TestPodThatTakesTheNameOfAnEvictedOneIsAnother(t *testing.T) {
	c, r, s, tries := unseen(t, config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	s.run(10 * time.Second)
	c.AddPod("a-0-p0", "a-0")
	r.keepPod("a-0-p0")
	r.goBack(s.e, true)
	s.run(10 * time.Second)
	require.Equal(t, map[string]int{"default/a-0-p0": 2, "default/a-0-p1": 1}, tries)
}
