//go:build go1.25

package nodepressure_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// hanging makes Kills of a pod take that long, even after their context has ended.
func hanging(w *world, name string, d time.Duration) {
	before := w.onKill
	w.onKill = func(ctx context.Context, e Eviction) {
		if e.Pod.Name != name {
			if before != nil {
				before(ctx, e)
			}
			return
		}
		time.Sleep(d)
		w.note("%s returns", name)
	}
}

const undead = "error: nodepressure: killing pod default/a: not dead in time: given up after "

// TestKillThatHangsIsGivenUp: it is given up after ten seconds; then the manager waits for its cleanup. Another pod is
// evicted next, and the first is not killed again before its Kill has returned.
func TestKillThatHangsIsGivenUp(t *testing.T) {
	log := during(t, hardMemory, nil, func(w *world, _ *Manager) {
		w.left = 0
		hanging(w, "a", 54500*time.Millisecond)
	}, wait(57*time.Second))
	require.Equal(t, []string{
		"0s kill a 1s", "10s " + undead + "10s",
		"40s kill b 1s", "41s kill b 1s", "42s kill b 1s", // no other pod is left
	}, log[:5])
	require.Equal(t, []string{"54s kill b 1s", "54.5s a returns", "55s kill a 1s"}, log[16:19])
}

// TestKillTimeouts: the kubelet waits one and a half times the grace period, in whole seconds, and ten at least.
func TestKillTimeouts(t *testing.T) {
	for grace, want := range map[int64]time.Duration{-1: 10, 0: 10, 6: 10, 7: 10, 8: 12, 15: 22, 30: 45, 3600: 5400, 1 << 62: 0} {
		want *= time.Second
		config := thresholds(softly(MemoryAvailable, "100", time.Second))
		config.MaxPodGracePeriodSeconds = grace
		seconds := max(grace, 0)
		log := during(t, config, nil, func(w *world, _ *Manager) {
			w.left = 0
			for i := range w.pods {
				w.pods[i].Spec.TerminationGracePeriodSeconds = &seconds
			}
			hanging(w, "a", 3*time.Hour)
		}, wait(11*time.Second+want))
		require.Equal(t, fmt.Sprintf("10s kill a %ds", seconds), log[0])
		if grace == 1<<62 {
			require.Equal(t, "3h0m10s a returns", log[1], "a time that has no end is none that has passed")
			continue
		}
		require.Equal(t, fmt.Sprintf("%s %s%s", 10*time.Second+want, undead, want), log[1], "grace %d", grace)
	}
}

// TestConditionsFollowWhileAKillHangs: this also holds for a hard one, before and after it is given up.
func TestConditionsFollowWhileAKillHangs(t *testing.T) {
	config := hardMemory
	config.PressureTransitionPeriod = 15 * time.Second
	synctest.Test(t, func(t *testing.T) {
		n := runNode(t, config, func(w *world) {
			w.left = 0
			hanging(w, "a", 10*time.Minute)
			hanging(w, "b", 10*time.Minute)
		})
		newcomer := build("newcomer", low)
		time.Sleep(5 * time.Second)
		require.False(t, n.machine.Admit(newcomer.Pod).Admitted)
		n.world.set(1000)
		time.Sleep(20 * time.Second) // a pass at 10s, the last that called for the condition was at 0s
		synctest.Wait()
		require.Empty(t, n.machine.Conditions())
		require.True(t, n.machine.Admit(newcomer.Pod).Admitted)
		n.world.set(0)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, n.machine.Conditions())
		n.end(t)
	})
}

// TestLateAnswerIsTaken: a Kill that was given up returns during the wait for its cleanup. Then it is over, and its
// error is reported.
func TestLateAnswerIsTaken(t *testing.T) {
	log := during(t, hardMemory, nil, func(w *world, _ *Manager) {
		w.left = 0
		hanging(w, "a", 15*time.Second)
		w.killErr = errors.New("too late")
	}, func(w *world, _ *Manager) {
		time.Sleep(14 * time.Second)
		w.set(1000)
		time.Sleep(time.Minute)
	})
	require.Equal(t, []string{"0s kill a 1s", "10s " + undead + "10s", "15s a returns", "15s error: nodepressure: killing pod default/a: too late"}, log)
}

var softAndHard = func() Config {
	config := thresholds(softly(MemoryAvailable, "200", time.Second), hardly(MemoryAvailable, "100"))
	config.MaxPodGracePeriodSeconds = 600
	return config
}()

// TestHardWaitsForTheSoftKillOfItsPod: a pod is not killed twice at the same time, even if its first Kill ignores its
// context. It is killed again, with its full time, when that returns, and given up if it does not.
func TestHardWaitsForTheSoftKillOfItsPod(t *testing.T) {
	short := func(w *world, _ *Manager) {
		time.Sleep(25 * time.Second)
		w.set(50)
		time.Sleep(36 * time.Second)
	}
	t.Run("Returns", func(t *testing.T) {
		log := during(t, softAndHard, nil, func(w *world, _ *Manager) {
			w.left, w.cleanup = 150, time.Minute
			hanging(w, "a", 29*time.Second) // until 39s, and again until 68s
		}, short)
		require.Equal(t, []string{"10s kill a 600s", "39s a returns", "39s kill a 1s", "49s " + undead + "10s"}, log[:4])
	})
	t.Run("DoesNot", func(t *testing.T) {
		log := during(t, softAndHard, nil, func(w *world, _ *Manager) {
			w.left, w.cleanup = 150, 35*time.Second
			hanging(w, "a", 61*time.Second)
		}, func(w *world, m *Manager) {
			short(w, m)
			time.Sleep(10500 * time.Millisecond)
		})
		require.Equal(t, []string{"10s kill a 600s", "40s " + undead + "10s", "1m10s kill b 1s", "1m11s a returns"}, log[:4])
	})
}

// TestHardKillsAnotherPodAtOnce: the soft Kill that it replaces need not have returned.
func TestHardKillsAnotherPodAtOnce(t *testing.T) {
	log := during(t, softAndHard, nil, func(w *world, _ *Manager) {
		w.left = 150
		hanging(w, "a", 40*time.Second)
	}, func(w *world, _ *Manager) {
		time.Sleep(25 * time.Second)
		w.mu.Lock()
		w.left, w.pods = 50, []Pod{w.pods[1], build("c", low-1)}
		w.mu.Unlock()
		time.Sleep(5500 * time.Millisecond)
		w.set(1000)
		time.Sleep(time.Minute)
	})
	require.Equal(t, []string{"10s kill a 600s", "30s kill c 1s", "50s a returns"}, log)
}

// TestAllThatExceedLimitsAreTried even if one of them hangs.
func TestAllThatExceedLimitsAreTried(t *testing.T) {
	log := during(t, Config{LocalStorageLimits: true}, nil, func(w *world, _ *Manager) {
		w.aboveLimits()
		hanging(w, "a", 29500*time.Millisecond)
	}, wait(time.Minute-time.Second))
	require.Equal(t, []string{"0s kill a 1s", "10s " + undead + "10s", "10s kill b 1s", "29.5s a returns"}, log[:4])
	require.Equal(t, "30s kill a 1s", log[4], "both are cleaned up")
}

// TestKillsThatDoNotReturnNormally count as failed and affect nothing else.
func TestKillsThatDoNotReturnNormally(t *testing.T) {
	for name, end := range map[string]func(){"panic: no such pod\n": func() { panic("no such pod") }, "runtime.Goexit was called": runtime.Goexit} {
		log := during(t, hardMemory, nil, func(w *world, _ *Manager) {
			w.left = 0
			w.onKill = func(context.Context, Eviction) { end() }
		}, wait(35*time.Second))
		require.Equal(t, "0s kill a 1s", log[0])
		require.Contains(t, log[1], "0s error: nodepressure: killing pod default/a: "+name)
		require.Equal(t, "30s kill a 1s", log[2])
	}
}

// TestOtherPanicsAreErrors: each function panics once. That is reported, and everything else is done.
func TestOtherPanicsAreErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(w *world, c *Clients, m *ManagerConfig, panics func())
		want   []string
	}{
		{"Stats", func(w *world, c *Clients, _ *ManagerConfig, panics func()) {
			c.StatsProvider = statsFunc(func(ctx context.Context) (Stats, error) { panics(); return w.Stats(ctx) })
		}, []string{"0s error: nodepressure: in a pass: panic: broken\n", "10s reclaim DeadContainers"}},
		{"Reclaim", func(w *world, _ *Clients, _ *ManagerConfig, panics func()) { w.onReclaim = panics }, []string{
			"0s reclaim DeadContainers", "0s error: nodepressure: reclaiming DeadContainers: panic: broken\n", "0s reclaim UnusedImages", "0s kill a 1s",
		}},
		{"StatsAfterReclaiming", func(w *world, c *Clients, _ *ManagerConfig, panics func()) {
			reclaimed := false
			w.onReclaim = func() { reclaimed = true }
			c.StatsProvider = statsFunc(func(ctx context.Context) (Stats, error) {
				if reclaimed {
					panics()
				}
				return w.Stats(ctx)
			})
		}, []string{"0s reclaim DeadContainers", "0s reclaim UnusedImages", "0s error: nodepressure: measuring the node after reclaiming: panic: broken\n", "0s kill a 1s"}},
		{"CleanedUp", func(w *world, c *Clients, _ *ManagerConfig, panics func()) { c.Killer = unclean{w, panics} }, []string{
			"0s reclaim DeadContainers", "0s reclaim UnusedImages", "0s kill a 1s", "1s error: nodepressure: CleanedUp: panic: broken\n", "2s reclaim DeadContainers",
		}},
		{"OnDecision", func(_ *world, _ *Clients, m *ManagerConfig, panics func()) {
			m.OnDecision = func(Decision) { panics() }
		}, []string{
			"0s error: nodepressure: OnDecision: panic: broken\n", "0s reclaim DeadContainers",
		}},
		{"OnError", func(w *world, _ *Clients, m *ManagerConfig, panics func()) {
			w.reclaimErr = errors.New("no")
			report := m.OnError
			m.OnError = func(err error) { panics(); report(err) }
		}, []string{"0s reclaim DeadContainers", "0s reclaim UnusedImages", "0s error: nodepressure: reclaiming UnusedImages: no", "0s kill a 1s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := prepare(t, thresholds(hardly(NodeFsAvailable, "100")), func(w *world, c *Clients, m *ManagerConfig) {
					w.signal, w.left = NodeFsAvailable, 0
					panicked := false
					tc.change(w, c, m, func() {
						if !panicked {
							panicked = true
							panic("broken")
						}
					})
				})
				n.begin()
				time.Sleep(12 * time.Second)
				n.end(t)
				require.Greater(t, len(n.world.log), len(tc.want))
				for i, want := range tc.want {
					require.Contains(t, n.world.log[i], want)
				}
			})
		})
	}
}

// unclean panics when CleanedUp is called.
type unclean struct {
	*world
	panics func()
}

func (u unclean) CleanedUp(pod *v1.Pod) bool {
	u.panics()
	return u.world.CleanedUp(pod)
}

// TestGoexitInAPassEndsRun: Run waits for its kills first.
func TestGoexitInAPassEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := prepare(t, softAndHard, func(w *world, c *Clients, _ *ManagerConfig) {
			w.left = 150
			w.onKill = func(ctx context.Context, _ Eviction) {
				<-ctx.Done()
				w.note("ended")
			}
			c.StatsProvider = statsFunc(func(ctx context.Context) (Stats, error) {
				if time.Since(w.began) >= 20*time.Second {
					runtime.Goexit()
				}
				return w.Stats(ctx)
			})
		})
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = n.manager.Run(context.Background())
		}()
		<-over
		require.Equal(t, []string{"10s kill a 600s", "20s ended"}, n.world.log)
		_, err := n.manager.Step(ended(t))
		require.NotErrorIs(t, err, ErrRunning, "it is free")
	})
}

func ended(t *testing.T) context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	t.Cleanup(end)
	return ctx
}
