package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// play makes many things happen, with time in between. Then it ends all faults and checks that the cluster comes to
// rest. advance lets time pass for the cluster and the evictor; restart starts another evictor.
func (l *life) play(advance func(time.Duration), restart func()) {
	defer func() {
		for _, s := range l.log {
			if l.t.Failed() {
				l.t.Log(s)
			}
		}
	}()
	locked := func(f func()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		f()
	}
	for range 1 + l.r.Intn(3) {
		locked(func() { l.faulty, l.lively = l.r.Intn(8), l.r.Intn(3)*10 })
		for range 5 + l.r.Intn(20) {
			var wait time.Duration
			again := false
			locked(func() {
				l.happen()
				wait, again = time.Duration(l.r.Intn(60000))*time.Millisecond, l.r.Intn(12) == 0
			})
			advance(wait)
			if again && restart != nil {
				restart()
			}
		}
		locked(func() { l.faulty, l.lively, l.leader, l.refused = 0, 0, true, "" })
		l.stops.Store(false)
		l.e.Resume("maintenance")
		l.e.SetObserverHealth(nil)
		advance(time.Minute)
		locked(l.kubelets)
		advance(15 * time.Minute)
		locked(l.check)
	}
}

// check compares the cluster at rest with what the rules demand.
func (l *life) check() {
	t, c, e := l.t, l.c, l.e
	counts := map[string]zone.Counts{}
	failed, waiting := 0, 0
	for name, m := range l.machines {
		bad := m.failed || m.notReady
		n := counts[m.zone]
		n.Total++
		if bad {
			n.Bad++
		}
		counts[m.zone] = n
		st, ok := e.Nodes().Node(name)
		require.True(t, ok, name)
		require.Equal(t, m.zone, st.Zone.Zone, name)
		require.Equal(t, m.held, st.Held != "", name)
		if c.HasNoExecute(name) {
			failed++
		}
		if !st.Queued.IsZero() {
			waiting++
		}
	}
	rates := map[string]float64{}
	for _, z := range e.Nodes().Zones() {
		require.Equal(t, counts[z.Zone.Zone], z.Counts, z.Zone)
		rates[z.Zone.Zone] = z.Rate
	}
	require.Len(t, counts, len(rates))
	for name, m := range l.machines {
		l.checkNode(name, m, rates[m.zone] == 0)
	}
	require.GreaterOrEqual(t, len(e.Nodes().Waiting()), waiting)
	for _, p := range e.Pods().Evictions() {
		_, ok := c.Clients().Pods.Pod(p.Pod.PodKey)
		require.True(t, ok)
	}
}

// checkNode does so for one node; stopped says that its zone's rate is 0.
func (l *life) checkNode(name string, m *machine, stopped bool) {
	t := l.t
	st, _ := l.e.Nodes().Node(name)
	evictions := armedOn(l.e, name)
	node, _ := l.c.Clients().Nodes.Node(name)
	own := map[v1.TaintEffect]bool{}
	for _, taint := range node.Spec.Taints {
		if taint.Key != v1.TaintNodeUnschedulable {
			own[taint.Effect] = true
		}
	}
	done := l.emptied(name)
	if own[v1.TaintEffectNoExecute] {
		require.True(t, l.cfg.Nodes.TaintBasedEviction, name)
		require.True(t, done || stopped, name) // what a pause made overdue waits for the rate too
	}
	if l.cfg.Nodes.TaintBasedEviction {
		done = own[v1.TaintEffectNoExecute]
	}
	switch {
	case m.held:
		require.Empty(t, own, name)
		require.Zero(t, st.Queued, name)
	case !m.failed && !m.notReady:
		require.Empty(t, own, name)
		require.Zero(t, st.Queued, name)
		require.Equal(t, m.cordoned, len(node.Spec.Taints) == 1, name)
		require.Zero(t, evictions, name)
	case l.e.Nodes().AllZonesDown():
		require.True(t, own[v1.TaintEffectNoSchedule], name)
		require.False(t, own[v1.TaintEffectNoExecute], name)
		require.Zero(t, st.Queued, name)
	default:
		require.True(t, own[v1.TaintEffectNoSchedule], name)
		require.True(t, done || stopped, "%s %v", name, st)
		require.True(t, done || !st.Queued.IsZero() || stopped && evictions > 0, name) // what a pause made overdue waits for the rate too
		require.False(t, own[v1.TaintEffectNoExecute] && !st.Queued.IsZero(), name)
	}
}

func (l *life) emptied(node string) bool {
	empty := true
	l.c.Clients().Pods.PodsOnNode(node, func(pod *v1.Pod) bool {
		empty = empty && pod.DeletionTimestamp != nil
		return true
	})
	return empty
}

func steppedLife(t *testing.T, seed int64) (timeline []string) {
	l := newLife(t, seed)
	t.Log("seed", seed, l.cfg)
	if l.r.Intn(3) == 0 {
		l.c.SetLatency(time.Duration(l.r.Intn(3000)) * time.Millisecond)
	}
	l.e = start(l.c, l.cfg, l.options())
	l.play(func(d time.Duration) {
		if l.faulty == 0 {
			l.c.SetLatency(0)
		}
		l.c.Advance(d)
	}, func() {
		l.e.Evictor = l.c.Restart()
		l.each("", func(name string, m *machine) {
			if m.held {
				l.e.Nodes().Hold(name, "repair")
			}
		})
	})
	return l.c.Timeline()
}

// Whatever happens to a cluster, in the end it is as the rules demand; and the same seed gives the same result.
func TestWhateverHappensComesToRest(t *testing.T) {
	for seed := range int64(60) {
		require.Equal(t, steppedLife(t, seed), steppedLife(t, seed), seed)
	}
}

// informer is a store that shows nodes as they were some time ago.
type informer struct {
	evictor.NodeStore
	names []string
	shown map[string]*v1.Node
}

// refresh shows the current version of one node, and says whether that changed anything.
func (s *informer) refresh(name string) bool {
	old, was := s.shown[name]
	node, ok := s.NodeStore.Node(name)
	if ok {
		s.shown[name] = node
	} else {
		delete(s.shown, name)
	}
	return was != ok || ok && (old.UID != node.UID || old.ResourceVersion != node.ResourceVersion)
}

func (s *informer) Node(name string) (*v1.Node, bool) {
	node, ok := s.shown[name]
	return node, ok
}

func (s *informer) Nodes(visit func(*v1.Node) bool) {
	for _, name := range s.names {
		if node, ok := s.shown[name]; ok && !visit(node) {
			return
		}
	}
}

// The same if every node is seen with a different delay.
func TestWhateverIsSeenLateComesToRest(t *testing.T) {
	for seed := range int64(30) {
		l := newLife(t, seed)
		t.Log("seed", seed, l.cfg)
		clients := l.c.Clients()
		store := &informer{NodeStore: clients.Nodes, names: l.names, shown: map[string]*v1.Node{}}
		clients.Nodes = store
		for _, name := range l.names {
			store.refresh(name)
		}
		e, err := newTested(l.cfg, clients, l.options())
		require.NoError(t, err)
		l.e = e
		l.c.Feed(e)
		late := 1 + l.r.Intn(8)
		l.play(func(d time.Duration) {
			for until := l.c.Clock().Now().Add(d); l.c.Clock().Now().Before(until); l.c.Advance(500 * time.Millisecond) {
				for _, name := range l.names {
					if l.r.Intn(late) == 0 && store.refresh(name) {
						e.NodeChanged(name)
					}
				}
				_, err := e.Step(context.Background())
				require.NoError(t, err)
			}
		}, nil)
	}
}
