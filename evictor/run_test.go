//go:build go1.25

package evictor_test

import (
	"context"
	"errors"
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
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// run runs an evictor on the cluster until the test ends; pass lets seconds pass on both clocks.
func run(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, options evictor.Options) (e *evictor.Evictor, pass func(seconds int)) {
	return runWith(t, c, cfg, c.Clients(), options)
}

// runWith is run with other clients than the cluster's own.
func runWith(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, clients evictor.Clients, options evictor.Options) (e *evictor.Evictor, pass func(seconds int)) {
	options.Clock = clock.RealClock{}
	e, err := evictor.New(cfg, clients, options)
	require.NoError(t, err)
	c.Feed(e)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
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
		var mu sync.Mutex
		evicted := map[string]time.Duration{}
		began := time.Now()
		e, pass := run(t, c, config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.PodEvicted {
				mu.Lock()
				evicted[d.Pod.Name] = d.Time.Sub(began)
				mu.Unlock()
			}
		})})
		_, err := e.Step(t.Context())
		require.ErrorIs(t, err, evictor.ErrRunning)
		c.Fail("a-0", "a-1")
		pass(500)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, evicted, 4)
		require.Equal(t, 10*time.Second, evicted["a-1-p0"]-evicted["a-0-p0"], "at the zone's rate")
		require.InDelta(t, 345, evicted["a-0-p0"].Seconds(), 5)
	})
}

// Lifting has its own workers: a hanging write does not delay recovery.
func TestHangingWritesDoNotHoldLiftingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		cfg := config()
		cfg.NodeWorkers = 1
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

// A panic outside the workers ends Run with it. A Run that waited for its workers would hang for ever.
func TestPanicOfTheObserverEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 1))
		e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: clock.RealClock{}, Observer: evictor.ObserverFunc(func(evictor.Decision) {
			panic("a bug of the observer's")
		})})
		require.NoError(t, err)
		require.Panics(t, func() { _ = e.Run(t.Context()) })
	})
}

// A change during a node's second try, which that try did not include, is not lost.
func TestChangeDuringARetryIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		_, pass := run(t, c, config(), evictor.Options{})
		tries, hang := 0, make(chan struct{})
		c.FailWrites(func(write, object string) error {
			if write != "podStatus" {
				return nil
			}
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

// An observer that is slow to handle a failure does not allow another try of the same node meanwhile.
func TestEventsWhileAFailureIsToldDoNotCutItsBackoffShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6))
		cfg := config()
		cfg.NodeEvictionRate = 0 // a turn right after the first failure would be a reason to try again
		var e *evictor.Evictor
		e, pass := run(t, c, cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.WriteFailed {
				e.NodeChanged("a-0")
				time.Sleep(10 * time.Millisecond)
			}
		})})
		var tries atomic.Int32
		c.FailWrites(func(write, object string) error {
			tries.Add(1)
			return apierrors.NewForbidden(v1.Resource("nodes"), object, errors.New("no")) // this is no outage
		})
		c.Fail("a-0")
		pass(45)
		require.EqualValues(t, 1, tries.Load())
		pass(60)
		require.Less(t, tries.Load(), int32(15))
	})
}

// A lift that waits for the node's hanging write has not failed: its backoff starts with its own failure.
func TestLiftThatWaitsForAWriteIsTriedSoonAfterItsFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		_, pass := run(t, c, config(), evictor.Options{})
		hang, failed := make(chan struct{}), false
		c.FailWrites(func(write, object string) error {
			if write == "podStatus" {
				<-hang
			}
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
			cfg.TaintBasedEviction = write != "evict"
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
			c.PodReady("late", write == "podStatus")
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
		cfg := config()
		cfg.TaintBasedEviction, cfg.MaxFailedNodes = false, 1
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

// Whatever happens beside Run, whose writes take time in parallel, comes to rest too.
func TestWhateverHappensBesideRunComesToRest(t *testing.T) {
	for seed := range int64(60) {
		synctest.Test(t, func(t *testing.T) {
			l := newLife(t, seed)
			t.Log("seed", seed, l.cfg)
			l.c.FailWrites(nil)
			l.c.FailWrites(func(write, object string) error {
				l.mu.Lock()
				took := time.Duration(l.r.Intn(3)*l.r.Intn(1500)) * time.Millisecond
				l.mu.Unlock()
				time.Sleep(took)
				return l.write(write, object)
			})
			e, pass := run(t, l.c, l.cfg, l.options())
			l.mu.Lock()
			l.e = e
			l.mu.Unlock()
			l.play(func(d time.Duration) {
				for range int(d / time.Second) {
					pass(1)
					require.False(t, e.Late(), "Run sleeps although something is due")
				}
			}, nil)
		})
	}
	few(t, 48) // varies from run to run
}
