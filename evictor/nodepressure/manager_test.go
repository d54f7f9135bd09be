//go:build go1.25

package nodepressure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestManagerEvictsOneAndWaits: it evicts one pod per pass and waits for what the pod used; then the next pass follows
// at once.
func TestManagerEvictsOneAndWaits(t *testing.T) {
	log := during(t, hardMemory, nil, func(w *world, _ *Manager) {
		w.cleanup = 2500 * time.Millisecond
	}, func(w *world, _ *Manager) {
		time.Sleep(5 * time.Second)
		w.set(0)
		time.Sleep(8500 * time.Millisecond) // the pass at 10s evicts, and so does the next one at 13s
		w.set(1000)
		time.Sleep(time.Minute)
	})
	require.Equal(t, []string{"10s kill a 1s", "13s kill a 1s"}, log)
}

func TestManagerGivesUpOnCleanup(t *testing.T) {
	log := during(t, hardMemory, nil, func(w *world, _ *Manager) { w.left, w.cleanup = 0, time.Hour }, wait(65*time.Second))
	require.Equal(t, []string{"0s kill a 1s", "30s kill a 1s", "1m0s kill a 1s"}, log)
}

// TestManagerIsNotified: it passes at once, whether it was asleep or not running, and once for several notifications.
func TestManagerIsNotified(t *testing.T) {
	passes := 0
	config := hardMemory
	clients := func(w *world) Clients {
		return Clients{Killer: w, StatsProvider: statsFunc(func(ctx context.Context) (Stats, error) {
			passes++
			w.note("pass %d", passes)
			return w.Stats(ctx)
		})}
	}
	log := during(t, config, clients, func(_ *world, m *Manager) {
		m.Notify()
		m.Notify()
	}, func(_ *world, m *Manager) {
		time.Sleep(4 * time.Second)
		m.Notify()
		time.Sleep(10 * time.Second)
	})
	require.Equal(t, []string{"0s pass 1", "0s pass 2", "4s pass 3", "14s pass 4"}, log[:4])
}

// TestHardPreemptsSoft: memory runs out during a pod's grace period in a soft eviction.
func TestHardPreemptsSoft(t *testing.T) {
	config := thresholds(softly(MemoryAvailable, "200", time.Second), hardly(MemoryAvailable, "100"))
	config.MaxPodGracePeriodSeconds = 600
	graceful := func(w *world) func(context.Context, Eviction) {
		return func(ctx context.Context, e Eviction) {
			select {
			case <-ctx.Done():
				w.note("%s interrupted", e.Pod.Name)
			case <-time.After(time.Duration(e.GracePeriodSeconds) * time.Second):
			}
		}
	}
	t.Run("AtTheNextPass", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, _ *Manager) { w.left, w.onKill = 150, graceful(w) }, func(w *world, _ *Manager) {
			time.Sleep(25 * time.Second)
			w.set(50)
			time.Sleep(5500 * time.Millisecond)
			w.set(1000)
			time.Sleep(time.Minute)
		})
		require.Equal(t, []string{"10s kill a 600s", "30s a interrupted", "30s kill a 1s"}, log)
	})
	t.Run("AtANotification", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, _ *Manager) { w.left, w.onKill = 150, graceful(w) }, func(w *world, m *Manager) {
			time.Sleep(25 * time.Second)
			w.set(50)
			m.Notify()
			time.Sleep(500 * time.Millisecond)
			w.set(1000)
			time.Sleep(time.Minute)
		})
		require.Equal(t, []string{"10s kill a 600s", "25s a interrupted", "25s kill a 1s"}, log)
	})
	t.Run("WhileWaitingForCleanup", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, _ *Manager) {
			w.left, w.cleanup = 150, 25*time.Second
			w.onKill = func(context.Context, Eviction) { time.Sleep(500 * time.Millisecond) }
		}, func(w *world, _ *Manager) {
			time.Sleep(12 * time.Second)
			w.set(50)
			time.Sleep(10 * time.Second)
			w.set(1000)
			time.Sleep(time.Minute)
		})
		require.Equal(t, []string{"10s kill a 600s", "20s kill a 1s"}, log)
	})
	t.Run("ByALimit", func(t *testing.T) {
		config := config
		config.LocalStorageLimits = true
		log := during(t, config, nil, func(w *world, _ *Manager) { w.left, w.onKill = 150, graceful(w) }, func(w *world, _ *Manager) {
			time.Sleep(25 * time.Second)
			w.aboveLimits()
			time.Sleep(5500 * time.Millisecond)
		})
		require.Equal(t, []string{"10s kill a 600s", "30s a interrupted", "30s kill a 1s"}, log[:3])
	})
	t.Run("NotBySofterNews", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, _ *Manager) { w.left, w.onKill = 150, graceful(w) }, func(_ *world, m *Manager) {
			time.Sleep(25 * time.Second)
			m.Notify()
			time.Sleep(500 * time.Second)
		})
		require.Equal(t, []string{"10s kill a 600s", "8m45s a interrupted"}, log, "at the end, by the context")
	})
}

// TestHardReclaimsBesideSoft: what no pod needs is reclaimed at once, even if no pod is left to evict.
func TestHardReclaimsBesideSoft(t *testing.T) {
	config := thresholds(softly(MemoryAvailable, "200", time.Second), hardly(NodeFsAvailable, "100"))
	config.MaxPodGracePeriodSeconds = 600
	log := during(t, config, func(w *world) Clients {
		return Clients{Reclaimer: w, Killer: w, StatsProvider: statsFunc(func(ctx context.Context) (Stats, error) {
			stats, err := w.Stats(ctx)
			if time.Since(w.began) >= 20*time.Second {
				stats.Pods, stats.Signals[NodeFsAvailable] = nil, Sample{Time: time.Now()}
			}
			return stats, err
		})}
	}, func(w *world, _ *Manager) {
		w.left = 150
		w.onKill = func(ctx context.Context, _ Eviction) {
			<-ctx.Done()
			w.note("interrupted")
		}
	}, wait(25*time.Second))
	require.Equal(t, []string{
		"0s error: nodepressure: threshold nodefs.available < 100: there is no sample of nodefs.available: it counts as not met",
		"10s kill a 600s", "20s reclaim DeadContainers", "20s reclaim UnusedImages", "25s interrupted",
	}, log)
}

// TestHardIsNotInterrupted: notifications wait until the eviction is over.
func TestHardIsNotInterrupted(t *testing.T) {
	log := during(t, hardMemory, nil, func(w *world, _ *Manager) {
		w.left = 0
		w.onKill = func(context.Context, Eviction) { time.Sleep(8 * time.Second) }
	}, func(w *world, m *Manager) {
		time.Sleep(5 * time.Second)
		m.Notify()
		time.Sleep(3500 * time.Millisecond)
		w.set(1000)
		time.Sleep(time.Minute)
	})
	require.Equal(t, []string{"0s kill a 1s"}, log)

	log = during(t, hardMemory, nil, func(w *world, _ *Manager) { w.left = 0 }, func(_ *world, m *Manager) {
		time.Sleep(500 * time.Millisecond)
		m.Notify()
		time.Sleep(time.Second)
	})
	require.Equal(t, []string{"0s kill a 1s", "1s kill a 1s"}, log, "nor is the wait for what it used")
}

func TestManagerReclaimsFirst(t *testing.T) {
	config := thresholds(hardly(NodeFsAvailable, "100"))
	onDisk := func(w *world, _ *Manager) { w.signal, w.left = NodeFsAvailable, 0 }
	t.Run("Enough", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, m *Manager) {
			onDisk(w, m)
			w.onReclaim = func() { w.set(500) }
		}, wait(25*time.Second))
		require.Equal(t, []string{"0s reclaim DeadContainers", "0s reclaim UnusedImages"}, log)
	})
	t.Run("NotEnough", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, m *Manager) {
			onDisk(w, m)
			w.reclaimErr = errors.New("no")
		}, wait(500*time.Millisecond))
		require.Equal(t, []string{
			"0s reclaim DeadContainers", "0s error: nodepressure: reclaiming DeadContainers: no",
			"0s reclaim UnusedImages", "0s error: nodepressure: reclaiming UnusedImages: no", "0s kill a 1s",
		}, log)
	})
	t.Run("NotMeasuredAfterwards", func(t *testing.T) {
		log := during(t, config, nil, func(w *world, m *Manager) {
			onDisk(w, m)
			w.onReclaim = func() { w.statsErr = errors.New("blind") }
		}, wait(500*time.Millisecond))
		require.Equal(t, []string{
			"0s reclaim DeadContainers", "0s reclaim UnusedImages", "0s error: nodepressure: measuring the node after reclaiming: blind", "0s kill a 1s",
		}, log)
	})
	t.Run("WithoutReclaimer", func(t *testing.T) {
		log := during(t, config, func(w *world) Clients { return Clients{StatsProvider: w, Killer: w} }, onDisk, wait(500*time.Millisecond))
		require.Equal(t, []string{"0s kill a 1s"}, log)
	})
}

func TestManagerReportsFailures(t *testing.T) {
	log := during(t, hardMemory, nil, func(w *world, _ *Manager) { w.statsErr = errors.New("blind") }, wait(15*time.Second))
	require.Equal(t, []string{"0s error: nodepressure: measuring the node: blind", "10s error: nodepressure: measuring the node: blind"}, log)

	log = during(t, hardMemory, nil, func(w *world, _ *Manager) { w.left, w.killErr = 0, errors.New("undead") }, wait(1500*time.Millisecond))
	require.Equal(t, []string{
		"0s kill a 1s", "0s error: nodepressure: killing pod default/a: undead", "1s kill a 1s", "1s error: nodepressure: killing pod default/a: undead",
	}, log, "it counts as evicted: the next pass comes once it is cleaned up")

	log = during(t, Config{LocalStorageLimits: true}, nil, func(w *world, _ *Manager) {
		w.aboveLimits()
		w.killErr = errors.New("undead")
	}, wait(1500*time.Millisecond))
	require.Equal(t, []string{
		"0s kill a 1s", "0s error: nodepressure: killing pod default/a: undead", "0s kill b 1s", "0s error: nodepressure: killing pod default/b: undead",
	}, log[:4])
}

// TestManagerKillsAllThatExceedLimits, one after the other, and waits for all of them.
func TestManagerKillsAllThatExceedLimits(t *testing.T) {
	log := during(t, Config{LocalStorageLimits: true}, nil, func(w *world, _ *Manager) {
		w.aboveLimits()
		w.onKill = func(context.Context, Eviction) { time.Sleep(time.Second) }
		w.cleanup = 3500 * time.Millisecond
	}, wait(7*time.Second))
	require.Equal(t, []string{"0s kill a 1s", "1s kill b 1s", "6s kill a 1s"}, log[:3])
}

// TestManagerKillsNobodyAfterItsEnd: of several pods, those that it had not reached live on.
func TestManagerKillsNobodyAfterItsEnd(t *testing.T) {
	log := during(t, Config{LocalStorageLimits: true}, nil, func(w *world, _ *Manager) {
		w.aboveLimits()
		w.onKill = func(ctx context.Context, _ Eviction) { <-ctx.Done() }
	}, wait(time.Second))
	require.Equal(t, []string{"0s kill a 1s"}, log)
}

// TestManagerReclaimsNothingAfterItsEnd, whether the end comes while it measures or while it reclaims.
func TestManagerReclaimsNothingAfterItsEnd(t *testing.T) {
	config := thresholds(hardly(NodeFsAvailable, "100"))
	for _, tc := range []struct {
		name                 string
		inStats, inReclaimer bool
		want                 []string
	}{
		{"Measuring", true, false, nil},
		{"Reclaiming", false, true, []string{"0s reclaim DeadContainers"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(context.Background())
				end := func(now bool) {
					if now {
						stop()
					}
				}
				w := newWorld(clock.RealClock{})
				w.signal, w.left, w.onReclaim, w.pods = NodeFsAvailable, 0, func() { end(tc.inReclaimer) }, w.pods[:1]
				machine, err := New(config)
				require.NoError(t, err)
				m, err := NewManager(machine, Clients{Reclaimer: w, Killer: w, StatsProvider: statsFunc(func(ctx context.Context) (Stats, error) {
					end(tc.inStats)
					return w.Stats(ctx)
				})}, DefaultManagerConfig())
				require.NoError(t, err)
				require.ErrorIs(t, m.Run(ctx), context.Canceled)
				require.Equal(t, tc.want, w.log)
			})
		})
	}
}

func TestManagerShowsDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(clock.RealClock{})
		w.signal, w.left, w.pods = NodeFsAvailable, 0, w.pods[:1]
		machine, err := New(thresholds(hardly(NodeFsAvailable, "100")))
		require.NoError(t, err)
		var shown []string
		config := DefaultManagerConfig()
		config.OnDecision = func(d Decision) { shown = append(shown, d.Action.String()) }
		m, err := NewManager(machine, Clients{StatsProvider: w, Reclaimer: w, Killer: w}, config)
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
		defer stop()
		require.ErrorIs(t, m.Run(ctx), context.DeadlineExceeded)
		require.Equal(t, []string{"ReclaimNode", "EvictPods"}, shown)
	})
}
