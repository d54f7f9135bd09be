package evictor_test

import (
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/zone"
)

// play makes many things happen, with time in between. Then it ends all faults and checks that the cluster comes to
// rest. advance lets time pass for the cluster and the evictor.
func (l *life) play(advance func(time.Duration)) {
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
			locked(func() {
				l.happen()
				wait = time.Duration(l.r.Intn(60000)) * time.Millisecond
			})
			advance(wait)
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
