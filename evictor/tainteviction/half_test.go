package tainteviction_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

var drain = v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}

func clientsOf(c *evictortest.Cluster) tainteviction.Clients {
	clients := c.Clients()
	return tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Source: clients.Source}
}

// drive starts the half alone.
func drive(t *testing.T, c *evictortest.Cluster, clients tainteviction.Clients, opts tainteviction.Options) *tainteviction.Controller {
	t.Helper()
	opts.Clock = c.Clock()
	e, err := tainteviction.New(tainteviction.DefaultConfig(), clients, opts)
	require.NoError(t, err)
	c.Drive(e.Step)
	return e
}

// Alone, a Gate is asked about harm in the node's zone, or in what the program says is its domain, and about the eviction.
func TestAloneADomainIsAskedAbout(t *testing.T) {
	for want, domain := range map[string]func(*v1.Node) zone.Key{"a": nil, "mine": func(*v1.Node) zone.Key { return zone.Key{Zone: "mine"} }} {
		c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
		asked := map[string]bool{}
		drive(t, c, clientsOf(c), tainteviction.Options{Domain: domain, Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			asked[fmt.Sprint(act.Do, " ", act.Domain.Zone, " ", act.Node)] = true
			return nil
		})})
		c.Taint("a-0", drain)
		c.Advance(time.Second)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted())
		require.Equal(t, map[string]bool{"Write  ": true, "Harm " + want + " ": true, "Evict " + want + " a-0": true}, asked)
	}
}

// Evictions are told in their order, each with what holds it back. Those of a node that goes end with it.
func TestAloneEvictionsThatWait(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	for i := range 3 {
		c.AddPod(fmt.Sprint("p", i), "a-0", evictortest.TolerateFor("drain", int64(30-10*i)))
	}
	night := func(_ context.Context, act gate.Act) error {
		if act.Do == gate.Evict {
			return &gate.Refused{Reason: "Night"}
		}
		return nil
	}
	e := drive(t, c, clientsOf(c), tainteviction.Options{Gate: gate.Func(night)})
	c.Taint("a-0", drain)
	c.Advance(15 * time.Second)
	var told []string
	for _, is := range e.Evictions() {
		told = append(told, fmt.Sprint(is.Pod.Name, " ", is.Why.Kind, " ", is.Why.Reason))
	}
	require.ElementsMatch(t, []string{"p2 EvictionDelayed Night", "p1 EvictionArmed ", "p0 EvictionArmed "}, told)
	c.DeleteNode("a-0")
	c.Advance(time.Second)
	require.Empty(t, e.Evictions())
}

// What fails is told of: the functions of Options that panic, stores that are not complete.
func TestAloneWhatFailsIsTold(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	clients, synced := clientsOf(c), false
	clients.Nodes = syncing{clients.Nodes, &synced}
	evicter, panics := clients.Evicter, true
	clients.Evicter = evicting(func(ctx context.Context, pod cluster.PodRef, why taints.Deadline) error {
		if panics {
			panics = false
			panic("the writer")
		}
		return evicter.Evict(ctx, pod, why)
	})
	var told []string
	panicked := 0
	in := make(map[zone.Key]bool)
	drive(t, c, clients, tainteviction.Options{
		Domain:  func(*v1.Node) zone.Key { panic("the domain") },
		OnPanic: func(any, any, []byte) { panicked++ },
		Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			in[act.Domain] = in[act.Domain] || act.Do == gate.Harm
			return nil
		}),
		Observer: func(d tainteviction.Decision) {
			told = append(told, fmt.Sprint(d.Kind, " ", d.Reason, " ", d.Err != nil))
		},
	})
	c.Advance(time.Second)
	require.Len(t, told, 1)
	require.Contains(t, told[0], "Awaiting")
	synced = true
	c.Taint("a-0", drain)
	c.Advance(time.Minute)
	require.Contains(t, told, "Awaiting  false", "nothing any more")
	require.Contains(t, told, "FunctionFailed Domain true")
	require.Contains(t, told, "WriteFailed eviction true")
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.GreaterOrEqual(t, panicked, 2)
	require.Equal(t, map[zone.Key]bool{{}: false, {Zone: "a"}: true}, in, "by the node's labels")
}

type syncing struct {
	cluster.NodeStore
	synced *bool
}

func (s syncing) Synced() bool { return *s.synced }

type evicting func(ctx context.Context, pod cluster.PodRef, why taints.Deadline) error

func (e evicting) Evict(ctx context.Context, pod cluster.PodRef, why taints.Deadline) error {
	return e(ctx, pod, why)
}

// source is a Source that refuses to feed, or ends the context once it runs.
type source struct {
	refuses error
	runs    func()
}

func (s source) Feed(cluster.Target) error { return s.refuses }
func (s source) Awaits() string            { return "" }
func (s source) Run(ctx context.Context) error {
	s.runs()
	<-ctx.Done()
	return nil
}

// Alone, the Source feeds and runs, too, and the configuration is checked.
func TestAloneTheSourceRuns(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	clients := clientsOf(c)
	no := errors.New("no")
	clients.Source = source{refuses: no}
	_, err := tainteviction.New(tainteviction.DefaultConfig(), clients, tainteviction.Options{})
	require.ErrorIs(t, err, no)

	ctx, cancel := context.WithCancel(context.Background())
	clients.Source = source{runs: cancel}
	e, err := tainteviction.New(tainteviction.DefaultConfig(), clients, tainteviction.Options{})
	require.NoError(t, err)
	_ = e.Run(ctx) // returns because the Source ran

	cfg := tainteviction.DefaultConfig()
	cfg.RetryMax = cfg.RetryInitial
	require.NoError(t, cfg.Validate())
	cfg.RetryInitial, cfg.RetryMax = 0, 0
	require.ErrorContains(t, cfg.Validate(), "retryInitial")
}
