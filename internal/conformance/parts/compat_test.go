package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	ourscheduler "github.com/evictkit/evictkit/evictor/compat/scheduler"
	ourtainteviction "github.com/evictkit/evictkit/evictor/compat/tainteviction"
	"github.com/evictkit/evictkit/internal/port"
)

// compatSequences is how many are played for each package. With EVICTKIT_FULL it is the full number, which takes
// minutes.
func compatSequences() uint64 {
	if os.Getenv("EVICTKIT_FULL") != "" {
		return 100_000
	}
	return 5_000
}

// TestCompatQueue: the queues of package compat/scheduler answer and process as upstream's do.
func TestCompatQueue(t *testing.T) {
	inBubbles(t, compatSequences(), 200, func(t *testing.T, s *script) {
		limiter := func() flowcontrol.RateLimiter { return flowcontrol.NewTokenBucketRateLimiter(0.5, 2) }
		ours, upstream := ourscheduler.NewRateLimitedTimedQueue(limiter()), scheduler.NewRateLimitedTimedQueue(limiter())
		rate, tries := float32(0.5), 0
		for !s.over() {
			value := key(s.below(6))
			switch s.below(8) {
			case 0, 1, 2:
				uid := s.below(2)
				require.Equal(t, upstream.Add(value, uid), ours.Add(value, uid))
			case 3:
				require.Equal(t, upstream.Remove(value), ours.Remove(value))
			case 4, 5:
				tries++
				try := func(log *[]string) func(scheduler.TimedValue) (bool, time.Duration) {
					return func(v scheduler.TimedValue) (bool, time.Duration) {
						*log = append(*log, fmt.Sprintf("%s %v %d %d", v.Value, v.UID, v.AddedAt.UnixNano(), v.ProcessAt.UnixNano()))
						n := int(v.AddedAt.UnixNano()) + tries // the same on both sides
						return n%3 > 0, time.Duration(n%5)*time.Second + time.Duration(len(*log))
					}
				}
				var did, want []string
				of := try(&did)
				ours.Try(logr.Discard(), func(v ourscheduler.TimedValue) (bool, time.Duration) { return of(scheduler.TimedValue(v)) })
				upstream.Try(logr.Discard(), try(&want))
				require.Equal(t, want, did)
			case 6:
				switch {
				case s.oneIn(4):
					ours.Clear()
					upstream.Clear()
				default:
					// After rate 0, upstream stays stopped if 1 follows.
					if next := pick[float32](s, 0, 0.25, 0.5, 1, 4); rate != 0 || next != 1 {
						ours.SwapLimiter(next)
						upstream.SwapLimiter(next)
						rate = next
					}
				}
			default:
				time.Sleep(time.Duration(1+s.below(6)) * time.Second)
			}
			time.Sleep(time.Microsecond) // among equal times upstream's choice is random
		}
	})
}

// done is a piece of work that ran.
type done struct {
	mu      sync.Mutex
	log     []string
	running map[string]int
}

func (d *done) work(namespaced types.NamespacedName, uid types.UID, fireAt time.Time) error {
	key := namespaced.String()
	d.mu.Lock()
	d.log = append(d.log, fmt.Sprint(time.Now().UnixNano(), key, uid, fireAt.UnixNano()))
	d.running[key]++
	d.mu.Unlock()
	if key > "ns/key-2" {
		time.Sleep(slowness)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running[key]--; d.running[key] == 0 {
		delete(d.running, key)
	}
	if key == "ns/key-1" {
		return errors.New("failed")
	}
	return nil
}

// TestCompatWorkers: the workers of package compat/tainteviction run the same work at the same times as upstream's, and
// answer the same, except for the differences in package comment and table: a key with running work is left alone if
// the work was cancelled or would be moved.
func TestCompatWorkers(t *testing.T) {
	inBubbles(t, compatSequences(), 150, func(t *testing.T, s *script) {
		sides := [2]*done{{running: map[string]int{}}, {running: map[string]int{}}}
		ours := ourtainteviction.CreateWorkerQueue(func(_ context.Context, at time.Time, a *ourtainteviction.WorkArgs) error {
			return sides[0].work(a.Object.NamespacedName, a.Object.UID, at)
		})
		upstream := tainteviction.CreateWorkerQueue(func(_ context.Context, at time.Time, a *tainteviction.WorkArgs) error {
			return sides[1].work(a.Object.NamespacedName, a.Object.UID, at)
		})
		ctx := logr.NewContext(t.Context(), logr.Discard())
		void := map[string]bool{}
		running := func(name string) bool {
			synctest.Wait()
			sides[1].mu.Lock()
			defer sides[1].mu.Unlock()
			for key := range void {
				if sides[1].running[key] == 0 {
					delete(void, key)
				}
			}
			return sides[1].running[name] > 0
		}
		for !s.over() {
			name := types.NamespacedName{Namespace: "ns", Name: key(s.below(6))}
			uid, now := types.UID(pick(s, "", "first", "second")), time.Now()
			at := now.Add(time.Duration(pick(s, -1, 0, 1, 2, 6, 20)) * grid)
			one := &ourtainteviction.WorkArgs{Object: ourtainteviction.NamespacedObject{NamespacedName: name, UID: uid}}
			other := &tainteviction.WorkArgs{Object: tainteviction.NamespacedObject{NamespacedName: name, UID: uid}}
			require.Equal(t, other.KeyFromWorkArgs(), one.KeyFromWorkArgs())
			require.Equal(t, other.Object.String(), one.Object.String())
			runs := running(name.String())
			switch s.below(6) {
			case 0, 1:
				if !void[name.String()] {
					ours.AddWork(ctx, one, now, at)
					upstream.AddWork(ctx, other, now, at)
				}
			case 2:
				if w := upstream.GetWorkerUnsafe(name.String()); !void[name.String()] && (!runs || w == nil || w.FireAt.Equal(at)) {
					ours.UpdateWork(ctx, one, now, at)
					upstream.UpdateWork(ctx, other, now, at)
				}
			case 3:
				require.Equal(t, upstream.CancelWork(logr.Discard(), name.String()), ours.CancelWork(logr.Discard(), name.String()))
				void[name.String()] = runs
			case 4:
				if s.oneIn(6) {
					var both sync.WaitGroup
					both.Go(ours.CancelAndWait)
					both.Go(upstream.CancelAndWait)
					both.Wait()
				}
			default:
				time.Sleep(time.Duration(1+s.below(5)) * grid)
			}
			synctest.Wait()
			w, want := ours.GetWorkerUnsafe(name.String()), upstream.GetWorkerUnsafe(name.String())
			require.Equal(t, want == nil, w == nil)
			if w != nil {
				require.Equal(t, [3]any{want.WorkItem.Object.UID, want.CreatedAt, want.FireAt}, [3]any{w.WorkItem.Object.UID, w.CreatedAt, w.FireAt})
			}
		}
		time.Sleep(time.Minute)
		ours.CancelAndWait()
		upstream.CancelAndWait() // all work has ended: what it wrote may be read
		for _, side := range sides {
			slices.Sort(side.log)
		}
		require.Equal(t, sides[1].log, sides[0].log)
	})
}

// TestCompatPassesUpstreamsTests runs those of upstream's tests that need only the exported API, or now, limiter and
// clock within the packages. Four tests look into the queue.
func TestCompatPassesUpstreamsTests(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	require.NoError(t, err)
	controllers := filepath.Join(strings.TrimSpace(string(out)), "pkg", "controller")
	compat, err := filepath.Abs("../../../evictor/compat")
	require.NoError(t, err)
	for _, row := range []struct {
		test, ours      string
		played, skipped []string
	}{
		{
			"nodelifecycle/scheduler/rate_limited_queue_test.go", "scheduler",
			[]string{"TestAddAfterTry", "TestSwapLimiter", "TestTry", "TestTryOrdering", "TestTryRemovingWhileTry"},
			[]string{"TestUniqueQueueGet", "TestAddNode", "TestDelNode", "TestClear", "CheckQueueEq"},
		},
		{"tainteviction/timed_workers_test.go", "tainteviction", []string{"TestCancel", "TestCancelAndRead", "TestExecute", "TestExecuteDelayed"}, nil},
	} {
		t.Run(row.ours, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(controllers, row.test))
			require.NoError(t, err)
			// The text of a failure message is not what is tested.
			source := strings.ReplaceAll(string(text), `have length %d", evictor.queue.set,`, `have length %d", evictor,`)
			test, overlay := filepath.Join(t.TempDir(), "upstream_test.go"), filepath.Join(t.TempDir(), "overlay.json")
			source, err = port.Without(source, row.skipped...)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(test, []byte(source), 0o600))
			replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(compat, row.ours, "upstream_test.go"): test}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(overlay, replace, 0o600))
			run := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-vet=off", "-v", "-run", "^("+strings.Join(row.played, "|")+")$", ".")
			run.Dir = filepath.Join(compat, row.ours)
			printed, err := run.CombinedOutput()
			require.NoError(t, err, "%s", printed)
			for _, name := range row.played {
				require.Contains(t, string(printed), "--- PASS: "+name+" ")
			}
		})
	}
}
