package evictor_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// A dry run remembers every label that it would have written, not only the last ones. Otherwise each forgotten one
// would be due again, for ever.
func TestDryRunRemembersTheLabelsOfEveryWrite(t *testing.T) {
	node := &v1.Node{}
	node.Name, node.Labels = "n", map[string]string{v1.LabelOSStable: "linux"}
	b := &bare{nodes: map[string]*v1.Node{"n": node}}
	clk := testingclock.NewFakePassiveClock(evictortest.Epoch)
	written := 0
	e, err := evictor.New(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b}, evictor.Options{
		Clock: clk, DryRun: true, Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.LabelsWritten {
				written++
			}
		}),
	})
	require.NoError(t, err)
	step := func() {
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.True(t, next.After(clk.Now()))
		clk.SetTime(clk.Now().Add(time.Second))
	}
	e.NodeChanged("n")
	step()
	require.Equal(t, 1, written)
	later := node.DeepCopy()
	later.Labels[v1.LabelArchStable] = "amd64"
	b.nodes["n"] = later
	e.NodeChanged("n")
	step()
	require.Equal(t, 2, written)
}

// whileVisiting is a store that reports reads from within its own Nodes, where a store with a lock would deadlock.
type whileVisiting struct {
	evictor.NodeStore
	visiting, read bool
}

func (s *whileVisiting) Node(name string) (*v1.Node, bool) {
	s.read = s.read || s.visiting
	return s.NodeStore.Node(name)
}

func (s *whileVisiting) Nodes(visit func(*v1.Node) bool) {
	s.visiting = true
	s.NodeStore.Nodes(visit)
	s.visiting = false
}

func TestDryRunReadsNoStoreWhileItVisits(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	store := &whileVisiting{NodeStore: clients.Nodes}
	clients.Nodes = store
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock(), DryRun: true})
	require.NoError(t, err)
	_, err = e.Step(context.Background())
	require.NoError(t, err)
	require.Len(t, e.Zones(), 1)
	require.False(t, store.read)
}

// A dry run believes the lease of an Unknown node again. Otherwise it would wait for a status report, which the kubelet
// has no reason to make, because nothing was written.
func TestDryRunBelievesTheLeaseAgain(t *testing.T) {
	for _, renew := range []func(e *evictor.Evictor, node string, now time.Time){
		func(e *evictor.Evictor, node string, now time.Time) { e.LeaseRenewed(node, now) },
		func(e *evictor.Evictor, node string, now time.Time) {
			e.LeaseObserved(node, now, strconv.FormatInt(now.Unix(), 10))
		},
	} {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: c.Clock(), DryRun: true})
		require.NoError(t, err)
		step := func(seconds int, renews ...string) {
			for range seconds {
				for _, node := range renews {
					renew(e, node, c.Clock().Now())
				}
				_, err := e.Step(context.Background())
				require.NoError(t, err)
				c.Clock().Step(time.Second)
			}
		}
		step(100, "a-1", "a-2")
		st, _ := e.Node("a-0")
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		require.Equal(t, 1, st.Evictions)
		step(6, "a-0", "a-1", "a-2")
		st, _ = e.Node("a-0")
		require.Equal(t, v1.ConditionTrue, st.Verdict.Ready)
		require.Zero(t, st.Evictions)
	}
}
