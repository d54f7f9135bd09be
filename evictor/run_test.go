//go:build go1.25

package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// run runs an evictor on the cluster until the test ends; pass lets seconds pass on both clocks.
func run(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, options evictor.Options) (e *tested, pass func(seconds int)) {
	return runWith(t, c, cfg, c.Clients(), options)
}

// runWith is run with other clients than the cluster's own.
func runWith(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, clients evictor.Clients, options evictor.Options) (e *tested, pass func(seconds int)) {
	options.Clock = clock.RealClock{}
	e, err := newTested(cfg, clients, options)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	time.Sleep(time.Second / 2) // so that nothing that the test does coincides with a pass
	synctest.Wait()
	return e, func(seconds int) {
		for range seconds {
			time.Sleep(time.Second)
			c.Advance(time.Second)
			synctest.Wait()
		}
	}
}

// In a synctest bubble the real clock is virtual. Run sleeps on it, and the test moves the cluster's own clock along.
func TestRunDoesWhatStepDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
		var told diary
		began := time.Now()
		e, pass := run(t, c, config(), evictor.Options{Observer: &told})
		_, err := e.Step(t.Context())
		require.ErrorContains(t, err, "another Step or Run is active")
		c.Fail("a-0", "a-1")
		pass(500)
		require.Len(t, told.of("PodEvicted"), 4)
		first, second := told.of("PodEvicted", "a-0-p0")[0].Time, told.of("PodEvicted", "a-1-p0")[0].Time
		require.Equal(t, 10*time.Second, second.Sub(first), "at the zone's rate")
		require.InDelta(t, 345, first.Sub(began).Seconds(), 5)
	})
}

// Lifting has its own workers: a hanging write does not delay recovery.
func TestHangingWritesDoNotHoldLiftingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		cfg := config()
		cfg.Nodes.NodeWorkers = 1
		_, pass := run(t, c, cfg, evictor.Options{})
		c.Fail("a-0")
		pass(60)
		require.True(t, c.HasNoExecute("a-0"))
		hang := make(chan struct{})
		c.FailWrites(nil)
		c.FailWrites(func(write, object string) error {
			if object == "a-5" {
				<-hang
			}
			return nil
		})
		c.Fail("a-5")
		pass(60)
		c.Recover("a-0")
		pass(10)
		require.False(t, c.HasNoExecute("a-0"), "lifted while the only node worker hangs")
		require.False(t, c.HasNoExecute("a-5"))
		close(hang)
		pass(20)
		require.True(t, c.HasNoExecute("a-5"))
	})
}

// A change during a node's second try, which that try did not include, is not lost.
func TestChangeDuringARetryIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		_, pass := run(t, c, config(), evictor.Options{})
		tries, hang := 0, make(chan struct{})
		onWrites(c, "podStatus", func(string) error {
			if tries++; tries == 1 {
				return errors.New("unavailable")
			}
			<-hang
			return nil
		})
		c.Fail("a-0")
		pass(60)
		require.Equal(t, 2, tries)
		c.Cordon("a-0", true)
		pass(10)
		close(hang)
		pass(10)
		require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unschedulable:NoSchedule")
	})
}

// A lift that waits for the node's hanging write has not failed: its backoff starts with its own failure.
func TestLiftThatWaitsForAWriteIsTriedSoonAfterItsFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		_, pass := run(t, c, config(), evictor.Options{})
		hang, failed := make(chan struct{}), false
		onWrites(c, "podStatus", func(string) error {
			<-hang
			return nil
		})
		c.Fail("a-0")
		pass(60)
		require.True(t, c.HasNoExecute("a-0"))
		c.FailWrites(func(write, object string) error {
			if write == "taints" && !failed {
				failed = true
				return errors.New("unavailable")
			}
			return nil
		})
		c.Recover("a-0")
		pass(60)
		close(hang)
		pass(2)
		require.True(t, failed)
		require.Empty(t, c.Taints("a-0"))
	})
}

// A pod that is added to a node while its pods are marked or deleted one after the other is marked and deleted too.
func TestPodThatArrivesWhileOthersAreWrittenIsWrittenToo(t *testing.T) {
	for write, line := range map[string]string{"podStatus": `"podNotReady"`, "evict": `"evict"`} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config()
			cfg.Nodes.TaintBasedEviction = write != "evict"
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
			_, pass := run(t, c, cfg, evictor.Options{})
			hang := make(chan struct{})
			var hung atomic.Bool
			c.FailWrites(func(kind, object string) error {
				if kind == write && hung.CompareAndSwap(false, true) { // later calls do not wait
					<-hang
				}
				return nil
			})
			c.Fail("a-0")
			pass(330)
			c.AddPod("late", "a-0", v1.Toleration{Operator: v1.TolerationOpExists})
			c.SetPodReady("late", write == "podStatus")
			pass(10)
			close(hang)
			pass(1)
			require.Len(t, says(c, "late", line), 1, write)
		})
	}
}

// A node that recovers while its last pod is deleted was not emptied: if it fails again its pods have their full time
// again.
func TestRecoveryDuringTheLastEvictionIsARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := withoutTaints(config(), 5*time.Minute)
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
		_, pass := run(t, c, cfg, evictor.Options{})
		hang := make(chan struct{})
		var once sync.Once
		c.FailWrites(func(kind, object string) error {
			if kind == "evict" {
				once.Do(func() { <-hang })
			}
			return nil
		})
		c.Fail("a-0")
		pass(330)
		c.Recover("a-0")
		pass(10)
		close(hang)
		pass(10)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted())
		c.AddPod("late", "a-0")
		c.Fail("a-0", "a-1")
		pass(120)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted())
		c.Recover("a-0")
		pass(330)
		require.Equal(t, []string{"a-0-p0", "a-1-p0"}, c.Evicted(), "a-0 does not count")
	})
}

func TestANodeIsDeclaredUnknownWhileManyPodsOfAnotherAreBeingMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(40))
		onWrites(c, "podStatus", func(string) error {
			time.Sleep(time.Second) // the bubble's clock
			return nil
		})
		var told diary
		cfg := config()
		cfg.Nodes.NodeWorkers = 1
		_, pass := run(t, c, cfg, evictor.Options{Observer: &told})
		c.Fail("a-0")
		pass(15)
		c.Fail("a-1")
		pass(150)
		require.Len(t, told.of("PodMarkedNotReady"), 80)
		first, second := told.of("ConditionsWritten", "a-0")[0].Time, told.of("ConditionsWritten", "a-1")[0].Time
		require.Less(t, second.Sub(first), 30*time.Second, "not after forty pods")
	})
}

// slowToSync needs a second to say that it is synced.
type slowToSync struct{ cluster.NodeStore }

func (s slowToSync) Synced() bool {
	time.Sleep(time.Second) // the bubble's clock
	return s.NodeStore.Synced()
}

// Events from before Run are handled before work that became due meanwhile.
func TestRunReadsWhatWasToldBeforeItEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		clients := c.Clients()
		clients.Nodes = slowToSync{clients.Nodes}
		e, err := newTested(config(), clients, evictor.Options{Clock: clock.RealClock{}})
		require.NoError(t, err)
		c.Feed(e)
		run := func(seconds int) {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx) }()
			for range seconds {
				time.Sleep(time.Second)
				c.Advance(time.Second)
				synctest.Wait()
			}
			stop()
			<-done
		}
		c.Fail("a-0")
		run(60)
		due := e.Pods().Evictions()[0].Due
		run(int(time.Until(due)/time.Second) - 10)
		e.Nodes().Hold("a-0", "a technician is there")
		time.Sleep(20 * time.Second)
		run(10)
		require.Empty(t, c.Evicted())
	})
}

// A pod that is found to tolerate the taint while a Gate is asked about it stays, and that is told.
func TestToleratedWhileTheGateIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		var told diary
		ask := gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Evict {
				c.Tolerate(act.Pod.Name, v1.Toleration{Operator: v1.TolerationOpExists})
				time.Sleep(time.Second / 10)
			}
			return nil
		})
		_, pass := run(t, c, config(), evictor.Options{Observer: &told, Gate: ask, OnPanic: func(_, value any, _ []byte) { t.Error(value) }})
		c.Fail("a-0")
		pass(500)
		require.Empty(t, c.Evicted())
		require.Len(t, told.of("EvictionCancelled", "a-0-p0"), 1)
	})
}

// turns records when writes that cost a turn begin, and makes them take time.
type turns struct {
	nodelifecycle.NodeWriter
	nodelifecycle.PodWriter
	begin func(node string)
}

func (w turns) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	for i := range change.Add {
		if taints.OwnNoExecute(&change.Add[i]) {
			w.begin(node.Name)
		}
	}
	return w.NodeWriter.UpdateTaints(ctx, node, change)
}

func (w turns) Evict(ctx context.Context, pod evictor.PodRef, why taints.Deadline) error {
	w.begin(pod.Node)
	return w.PodWriter.Evict(ctx, pod, why)
}

// Karmada, under Run: six workers whose writes take up to five seconds, or all hang for a minute and then succeed.
func TestSixWorkersThatTakeTimeStayWithinTheRate(t *testing.T) {
	for name, takes := range map[string]func(since time.Duration, n int) time.Duration{
		"some seconds": func(_ time.Duration, n int) time.Duration { return time.Duration(n%6) * time.Second },
		"hanging":      func(since time.Duration, _ int) time.Duration { return 100*time.Second - since },
	} {
		for _, taintBased := range []bool{true, false} {
			t.Run(fmt.Sprint(name, taintBased), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { sixWorkersTakeTime(t, taintBased, takes) })
			})
		}
	}
}

func sixWorkersTakeTime(t *testing.T, taintBased bool, takes func(since time.Duration, n int) time.Duration) {
	c := evictortest.New(t, evictortest.Zone("a", 60), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
	var mu sync.Mutex
	began := map[string]time.Duration{}
	start := time.Now()
	clients := c.Clients()
	slow := turns{clients.NodeWriter, clients.PodWriter, func(node string) {
		mu.Lock()
		since := time.Since(start)
		if _, known := began[node]; !known {
			began[node] = since
		}
		n := len(began)
		mu.Unlock()
		time.Sleep(takes(since, n))
	}}
	clients.NodeWriter, clients.PodWriter = slow, slow
	_, pass := runWith(t, c, sixWorkers(taintBased), clients, evictor.Options{})
	for i := range 30 {
		c.Fail(fmt.Sprintf("a-%d", i))
	}
	pass(240)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, began, 30)
	requireWithin(t, began, 0.5)
}

// OpenYurt's pull request 2500, under Run: while a zone label flips all the time, nothing about its node is lost.
func TestZoneThatFlipsWhileRunWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8), evictortest.PodsPerNode(1))
		var mu sync.Mutex
		evicted := map[string]int{}
		e, pass := run(t, c, config(), evictor.Options{Observer: observe(func(d decision) {
			if d.Kind == "PodEvicted" {
				mu.Lock()
				evicted[d.Pod.Name]++
				mu.Unlock()
			}
		})})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(137 * time.Millisecond):
					c.Relabel("a-1", zone.Key{Zone: []string{"b", "nowhere", "a", ""}[i%4]})
				}
			}
		}()
		c.Fail("a-0", "a-1", "a-2")
		pass(120)
		close(stop)
		<-stopped
		c.Relabel("a-1", zone.Key{Zone: "b"})
		pass(6)
		requireCountedOnce(t, e, 16)
		status, ok := e.Nodes().Node("a-1")
		require.True(t, ok)
		require.Equal(t, zone.Key{Zone: "b"}, status.Zone)
		pass(360)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, map[string]int{"a-0-p0": 1, "a-1-p0": 1, "a-2-p0": 1}, evicted)
	})
}

// patching has something happen before conditions are written, and writes them without regard to the node's version, as a
// patch does.
type patching struct {
	nodelifecycle.NodeWriter
	nodes  cluster.NodeStore
	before func()
}

func (w patching) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	w.before()
	node, _ = w.nodes.Node(node.Name)
	return w.NodeWriter.UpdateConditions(ctx, node, conditions)
}

// A node that reports not Ready while it is made Unknown is not tainted as unreachable.
func TestTaintIsThatOfTheLatestVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		clients := c.Clients()
		clients.NodeWriter = patching{clients.NodeWriter, clients.Nodes, func() {
			time.Sleep(time.Second) // the pass that asked for this write is over
			c.Recover("a-0")
			c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
			time.Sleep(6 * time.Second) // the next pass sees it
		}}
		_, pass := runWith(t, c, config(), clients, evictor.Options{})
		c.Fail("a-0")
		pass(54)
		require.Empty(t, says(c, `unreachable","effect":"NoExecute"`))
		require.Len(t, says(c, `not-ready","effect":"NoExecute"`), 1)
	})
}

// A turn that is granted while the node is being written is that of the taint which this write sends: after a Conflict the
// Gate is asked anew.
func TestATurnGrantedDuringAWriteEndsWithItsTaint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		var asked, tries atomic.Int32
		options := evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			if act.Do == gate.Turn && asked.Add(1) == 1 {
				return errors.New("not yet")
			}
			return nil
		})}
		clients := c.Clients()
		clients.NodeWriter = turns{NodeWriter: clients.NodeWriter, begin: func(string) { require.Equal(t, tries.Add(1)+1, asked.Load()) }}
		_, pass := runWith(t, c, config(), clients, options)
		c.FailWrites(func(write, object string) error {
			switch {
			case write == "conditions":
				time.Sleep(10 * time.Second)
			case write == "taints" && tries.Load() == 1:
				return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
			}
			return nil
		})
		c.Fail("a-0")
		pass(60)
		require.True(t, c.HasNoExecute("a-0"))
		require.EqualValues(t, 2, tries.Load())
	})
}

// thenGone deletes a node when its conditions were written, before the writer hears of it.
type thenGone struct {
	nodelifecycle.NodeWriter
	gone func()
}

func (w thenGone) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	defer w.gone()
	return w.NodeWriter.UpdateConditions(ctx, node, conditions)
}

// A node that is deleted while its conditions are written counts in its zone no more.
func TestANodeDeletedDuringAWriteCountsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		clients := c.Clients()
		clients.NodeWriter = thenGone{clients.NodeWriter, func() {
			c.DeleteNode("a-0")
			time.Sleep(7 * time.Second) // a pass sees that
		}}
		e, pass := runWith(t, c, config(), clients, evictor.Options{})
		c.Fail("a-0")
		pass(80)
		zones := e.Nodes().Zones()
		require.Len(t, zones, 1)
		require.Equal(t, zone.Counts{Total: 2}, zones[0].Counts)
	})
}

// behind is a store that lags behind with one node, and counts how often it was asked for that.
type behind struct {
	cluster.NodeStore
	stuck atomic.Pointer[v1.Node]
	asked atomic.Int64
}

func (b *behind) Node(name string) (*v1.Node, bool) {
	if node := b.stuck.Load(); node != nil && node.Name == name {
		if b.asked.Add(1) > 100_000 {
			return nil, false // or a loop that reads it without end would hang the test
		}
		return node, true
	}
	return b.NodeStore.Node(name)
}

// A write in flight when its node is replaced does not bring back the old node.
func TestWriteOfAReplacedNodeDoesNotHideTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		var written, replaced atomic.Bool
		clients := c.Clients()
		store := &behind{NodeStore: clients.Nodes}
		clients.Nodes = store
		e, pass := runWith(t, c, config(), clients, evictor.Options{Gate: mayHarm(func() error {
			if written.Load() && replaced.CompareAndSwap(false, true) {
				store.stuck.Store(nil)
				c.DeleteNode("a-0")
				c.AddNode("a-0", zone.Key{Zone: "a"})
				c.Fail("a-0")
				time.Sleep(7 * time.Second) // the bubble's clock; the new node is seen
			}
			return nil
		})})
		pass(50)
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		pass(10)
		require.True(t, c.HasNoExecute("a-0"))
		c.FailWrites(func(write, object string) error {
			if write == "conditions" && !replaced.Load() {
				written.Store(true)
				node, _ := store.NodeStore.Node("a-0")
				store.stuck.Store(node)
			}
			if write == "taints" && !replaced.Load() {
				return errors.New("denied")
			}
			return nil
		})
		c.Condition("a-0", v1.NodeReady, v1.ConditionTrue) // its taint cannot be lifted
		pass(10)
		c.Fail("a-0")
		pass(150)
		require.True(t, replaced.Load())
		st, ok := e.Nodes().Node("a-0")
		require.True(t, ok)
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		require.True(t, c.HasNoExecute("a-0"))
	})
}

// A store that goes back to the node that had the name before, and stays there, does not keep Run busy while the node is
// due to be looked at again.
func TestAnOlderNodeOfTheNameDoesNotKeepRunBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		clients := c.Clients()
		store := &behind{NodeStore: clients.Nodes}
		clients.Nodes = store
		cfg := withoutTaints(config(), 5*time.Minute)
		cfg.Nodes.NodeMonitorPeriod = 0
		first, _ := store.Node("a-0")
		c.DeleteNode("a-0")
		c.AddNode("a-0", zone.Key{Zone: "a"})
		_, pass := runWith(t, c, cfg, clients, evictor.Options{})
		c.Fail("a-0") // its pods wait for PodEvictionTimeout
		pass(120)
		store.stuck.Store(first)
		c.Condition("a-1", v1.NodeReady, v1.ConditionFalse)
		pass(60)
		require.Less(t, store.asked.Load(), int64(100))
	})
}

// While a call evicts a pod for one reason, no other call does for another reason. If it fails, the other goes on.
func TestOneCallAtATimeEvictsAPod(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
			_, pass := run(t, c, withoutTaints(config(), time.Minute), evictor.Options{})
			var tries atomic.Int32
			hang := make(chan struct{})
			onWrites(c, "evict", func(string) error {
				if tries.Add(1) > 1 {
					return nil
				}
				<-hang
				if fails {
					return errors.New("unavailable")
				}
				return nil
			})
			c.Fail("a-0")
			pass(58)
			c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}) // its eviction hangs
			pass(30)                                                                // and its node is to be emptied
			require.EqualValues(t, 1, tries.Load())
			close(hang)
			pass(5)
			require.EqualValues(t, map[bool]int{false: 1, true: 2}[fails], tries.Load())
			require.Equal(t, []string{"a-0-p0"}, c.Evicted())
		})
	}
}

// Nodes whose pods cannot be marked do not make each other try again without a wait.
func TestMarksThatFailOnSeveralNodesAreTriedRarely(t *testing.T) {
	for _, workers := range []int{1, 2, 32} {
		synctest.Test(t, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(2))
			cfg := config()
			cfg.Nodes.NodeWorkers = workers
			var tries atomic.Int64 // by every worker
			c.FailWrites(func(write, object string) error {
				if write == "podStatus" && tries.Add(1) < 100_000 {
					return apierrors.NewForbidden(v1.Resource("pods"), object, errors.New("no"))
				}
				return nil
			})
			_, pass := run(t, c, cfg, evictor.Options{})
			c.Fail("a-0", "a-1", "a-2")
			pass(100)
			require.Less(t, tries.Load(), int64(200))
		})
	}
}

// A write that finds a permission refused while Run sleeps is made as soon as that permission is granted again.
func TestRefusalThatOnlyAWorkerSawIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 4))
		cfg := config()
		cfg.Nodes.NodeMonitorPeriod = 0
		var closed atomic.Pointer[time.Time]
		_, pass := run(t, c, cfg, evictor.Options{Gate: mayHarm(func() error {
			if at := closed.Load(); at != nil && time.Since(*at) > 0 && time.Since(*at) < 500*time.Millisecond {
				return errors.New("not now")
			}
			return nil
		})})
		pass(50)
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		pass(10)
		require.True(t, c.HasNoExecute("a-0"))
		c.FailWrites(func(write, object string) error {
			if now := time.Now(); write == "taints" && closed.CompareAndSwap(nil, &now) {
				return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
			}
			return nil
		})
		c.Fail("a-0")
		for closed.Load() == nil {
			pass(1)
		}
		pass(3)
		require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unreachable:NoExecute")
	})
}

// A permission that is refused for a moment, which only an eviction notices, costs no more than that in turns.
func TestRefusalThatOnlyAWorkerSawDelaysNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 10))
		c.AddPod("p", "a-9", evictortest.TolerateFor("maintenance", 130))
		cfg := config()
		cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.NodeEvictionRate = 0, 0.01
		closed := time.Now().Add(129500 * time.Millisecond)
		_, pass := run(t, c, cfg, evictor.Options{Gate: mayHarm(func() error {
			if since := time.Since(closed); since > 0 && since < time.Second {
				return errors.New("not now")
			}
			return nil
		})})
		c.Taint("a-9", v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoExecute})
		c.Fail("a-0", "a-1")
		pass(133)
		require.Equal(t, []string{"p"}, c.Evicted(), "nothing else looks at it then")
		pass(7)
		require.Len(t, tainted(c, "a", 2), 1)
		pass(2)
		require.Len(t, tainted(c, "a", 2), 2, "one second later than without the refusal")
	})
}

// What the program says of a node may change without an event of the node. If a write that fails notices it, Run acts on
// it.
func TestHoldThatOnlyAWriteNoticesActsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1), evictortest.Heartbeats(10*time.Second, 2*time.Hour))
		cfg := config()
		cfg.Nodes.NodeMonitorPeriod = 0
		var held atomic.Bool
		_, pass := run(t, c, cfg, evictor.Options{Hold: func(node *v1.Node) (string, bool) {
			return "repair", held.Load() && node.Name == "a-0"
		}})
		onWrites(c, "podStatus", func(object string) error {
			return apierrors.NewForbidden(v1.Resource("pods"), object, errors.New("no"))
		})
		c.Fail("a-0")
		pass(100)
		require.True(t, c.HasNoExecute("a-0"))
		held.Store(true)
		pass(45) // the pod is tried again meanwhile
		require.False(t, c.HasNoExecute("a-0"))
	})
}

// A client that ends its goroutine costs one try, like one that panics.
func TestClientThatEndsItsGoroutineCostsOneTry(t *testing.T) {
	for _, write := range []string{"conditions", "evict"} {
		synctest.Test(t, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 4))
			c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 10))
			var ended atomic.Bool
			onWrites(c, write, func(string) error {
				if ended.CompareAndSwap(false, true) {
					runtime.Goexit()
				}
				return nil
			})
			var told diary
			_, pass := run(t, c, config(), evictor.Options{Observer: &told})
			c.Fail("a-0")
			pass(200)
			require.True(t, c.HasNoExecute("a-0"))
			require.Equal(t, []string{"p"}, c.Evicted())
			require.Len(t, told.of("WriteFailed"), 1)
		})
	}
}

// Exact mode acts on arrival, also for the lease of a node that was Unknown: nothing else wakes Run for it.
func TestLeaseOfASilentNodeWakesRunInExactMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 1))
		c.FailWrites(func(string, string) error { return apierrors.NewServiceUnavailable("down") }) // so its object still says Ready
		cfg := config()
		cfg.Nodes.NodeMonitorPeriod = 0
		e, pass := run(t, c, cfg, evictor.Options{})
		c.Fail("a-0")
		pass(60)
		st, _ := e.Nodes().Node("a-0")
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		e.LeaseObserved("a-0", time.Now(), "")
		synctest.Wait()
		st, _ = e.Nodes().Node("a-0")
		require.Equal(t, v1.ConditionTrue, st.Verdict.Ready)
	})
}

// If its taint is replaced while an eviction hangs, it is reported as moved once, and not at each event of its pod.
func TestEvictionThatHangsIsMovedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
		var told diary
		e, pass := run(t, c, config(), evictor.Options{Observer: &told})
		hang := make(chan struct{})
		onWrites(c, "evict", func(string) error {
			<-hang
			return nil
		})
		c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
		pass(40)
		c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
		pass(1)
		c.Untaint("a-0", "one", v1.TaintEffectNoExecute)
		for range 5 {
			pass(1)
			e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
		}
		require.Len(t, told.of("EvictionMoved"), 1)
		close(hang)
		pass(1)
		require.Equal(t, []string{"p"}, c.Evicted())
	})
}

// What is missing is told at once, and when it changes, by Step and by Run.
func TestWhatIsAwaitedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told diary
		var awaits atomic.Value
		awaits.Store("nodes to be listed")
		b := &changing{brought{run: func(ctx context.Context) error { <-ctx.Done(); return nil }}, &awaits}
		e, err := newTested(config(), evictor.Clients{Nodes: b, Pods: b, NodeWriter: b, PodWriter: b, Source: b}, evictor.Options{Observer: &told})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		for i, what := range []string{"nodes to be listed", "nodes to be listed: forbidden", ""} {
			awaits.Store(what)
			time.Sleep(1500 * time.Millisecond)
			require.Len(t, told.of("Awaiting"), i+1)
			require.Equal(t, what, told.of("Awaiting")[i].Reason)
		}
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

// changing is a source that awaits now this and now that.
type changing struct {
	brought
	now *atomic.Value
}

func (c *changing) Synced() bool   { return c.Awaits() == "" }
func (c *changing) Awaits() string { what, _ := c.now.Load().(string); return what }
