package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// replicas are two evictors of one cluster, of which the first leads until the other takes over.
type replicas struct {
	t       *testing.T
	c       *evictortest.Cluster
	members [2]*evictor.Evictor
	leader  int
}

func newReplicas(t *testing.T, c *evictortest.Cluster, cfg evictor.Config) *replicas {
	r := &replicas{t: t, c: c}
	for i := range r.members {
		e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: c.Clock(), MayWrite: func() error {
			if r.leader != i {
				return errors.New("another replica leads")
			}
			return nil
		}})
		require.NoError(t, err)
		c.Feed(e)
		r.members[i] = e
	}
	return r
}

func (r *replicas) run(d time.Duration) {
	for until := r.c.Clock().Now().Add(d); r.c.Clock().Now().Before(until); r.c.Advance(time.Second) {
		for _, e := range r.members {
			_, err := e.Step(context.Background())
			require.NoError(r.t, err)
		}
	}
}

func (r *replicas) takeOver() {
	r.leader = 1
	for _, e := range r.members {
		e.Kick()
	}
}

// Whoever takes over spends no turns on the nodes that the leader before it has tainted, however many they are, and does not
// tell that they wait.
func TestTakeOverGoesOnAtThePace(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
		c := evictortest.New(t, evictortest.Zone("a", 60))
		r := newReplicas(t, c, cfg)
		r.run(30 * time.Second)
		for i := range 30 {
			c.Fail(fmt.Sprintf("a-%d", i))
		}
		for len(noExecute(c)) < 20 {
			r.run(time.Second)
		}
		for _, w := range r.members[1].Waiting() {
			require.False(t, c.HasNoExecute(w.Node), "%s waits though it is tainted", w.Node)
		}
		require.Len(t, r.members[1].Waiting(), 10)
		r.takeOver()
		r.run(31 * time.Second)
		require.GreaterOrEqual(t, len(noExecute(c)), 23)
		require.LessOrEqual(t, len(noExecute(c)), 24)
		require.Len(t, r.members[1].Waiting(), 30-len(noExecute(c)))
	}
}

func unreachableNow(c *evictortest.Cluster) v1.Taint {
	now := metav1.NewTime(c.Clock().Now())
	return v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &now}
}

// A node that somebody else taints while it waits leaves the line, and comes back when the taint is gone.
func TestNodeThatIsTaintedByOthersDoesNotWait(t *testing.T) {
	cfg := config()
	cfg.NodeEvictionRate = 0.001
	c := evictortest.New(t, evictortest.Zone("a", 8))
	var told []string
	e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Node == "a-1" && (d.Kind == evictor.NodeQueued || d.Kind == evictor.NodeDequeued) {
			told = append(told, d.Kind.String()+" "+d.Reason)
		}
	})})
	c.Fail("a-0", "a-1")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-1 in :a"}, waiting(e))
	c.Taint("a-1", unreachableNow(c))
	c.Advance(0)
	require.Empty(t, waiting(e))
	c.Advance(time.Minute)
	require.Empty(t, waiting(e))
	c.Untaint("a-1", unreachableNow(c).Key, unreachableNow(c).Effect)
	c.Advance(5 * time.Second)
	require.Equal(t, []string{"a-1 in :a"}, waiting(e))
	require.Equal(t, []string{"NodeQueued ", "NodeDequeued Tainted", "NodeQueued "}, told)
}
