package parts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/evictkit/evictkit/internal/conformance/differential"
	"github.com/evictkit/evictkit/timedworker"
)

// Keys have characters: the work of some is slow, that of some fails in even seconds, and the last key is only ever
// added, with a creation time in the past.
const (
	workKeys = 7
	lateKey  = workKeys - 1
	slowness = 2 * time.Second
	grid     = 500 * time.Millisecond // on which everything happens
	backoff  = time.Second
)

func slow(i int) bool { return i == 2 || i == 3 || i == 5 }
func fails(i int) bool {
	return (i == 4 || i == 5) && time.Now().Unix()%2 == 0
}

func workKey(i int) string { return types.NamespacedName{Namespace: "ns", Name: key(i)}.String() }

// entry is work that upstream gets later.
type entry struct {
	uid     string
	at      time.Time
	keeping bool // KeepFirst
}

// works are both sets. They get the same operations.
type works struct {
	*testing.T
	*script
	ctx      context.Context
	fired    fired
	ours     *timedworker.Set[int, string] // the value is the UID
	upstream *tainteviction.TimedWorkerQueue

	mu       sync.Mutex // guards what follows while work runs
	ran      [2][]string
	finished map[int]error    // upstream's work that has returned
	running  map[int]bool     // upstream's
	last     map[int]string   // the UID of upstream's work that ran last
	void     map[int]struct{} // cancelled while running
	queued   map[int]*entry   // behind running work of ours
}

const (
	oursSide = iota
	upstreamSide
)

func (w *works) work(side, i int, uid string) error {
	err := error(nil)
	if fails(i) {
		err = errors.New("failed")
	}
	w.mu.Lock()
	w.ran[side] = append(w.ran[side], fmt.Sprint(time.Now(), i, uid))
	if side == upstreamSide {
		w.running[i], w.last[i] = true, uid
	}
	w.mu.Unlock()
	if slow(i) {
		time.Sleep(slowness)
	}
	if side == upstreamSide {
		w.mu.Lock()
		delete(w.running, i)
		w.finished[i] = err
		w.mu.Unlock()
	}
	return err
}

func newWorks(t *testing.T, s *script, f fired) *works {
	w := &works{T: t, script: s, fired: f, ctx: klog.NewContext(t.Context(), logr.Discard()),
		finished: map[int]error{}, running: map[int]bool{}, last: map[int]string{}, void: map[int]struct{}{}, queued: map[int]*entry{}}
	var err error
	w.ours, err = timedworker.New(func(_ context.Context, work timedworker.Work[int, string]) timedworker.Result {
		if err := w.work(oursSide, work.Key, work.Value); err != nil {
			return timedworker.Retry(err)
		}
		return timedworker.Forget()
	}, timedworker.Config{Backoff: timedworker.Backoff{Initial: backoff, Factor: 1, Max: backoff}})
	require.NoError(t, err)
	w.upstream = tainteviction.CreateWorkerQueue(func(_ context.Context, _ time.Time, args *tainteviction.WorkArgs) error {
		var i int
		if _, err := fmt.Sscanf(args.Object.Name, "key-%d", &i); err != nil {
			return err
		}
		return w.work(upstreamSide, i, string(args.Object.UID))
	})
	return w
}

func runWorks(t *testing.T, s *script, f fired) {
	w := newWorks(t, s, f)
	var loop sync.WaitGroup
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	loop.Go(func() {
		if err := w.ours.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	for !s.over() {
		switch i := s.below(workKeys); s.below(6) {
		case 0, 1:
			w.schedule(i, true)
		case 2, 3:
			w.schedule(i, i == lateKey)
		case 4:
			w.cancel(i)
		default:
			for range pick(s, 1, 1, 2, 5) {
				time.Sleep(grid)
				w.settle()
			}
		}
		w.settle()
	}
	for len(w.ours.All()) > 0 {
		time.Sleep(grid)
		w.settle()
	}
	w.upstream.CancelAndWait()
	stop()
	loop.Wait()
	w.compare()
}

func args(i int, uid string) *tainteviction.WorkArgs {
	return &tainteviction.WorkArgs{Object: tainteviction.NamespacedObject{NamespacedName: types.NamespacedName{Namespace: "ns", Name: key(i)}, UID: types.UID(uid)}}
}

func (w *works) schedule(i int, keeping bool) {
	now := time.Now()
	uid := pick(w.script, "first", "first", "second")
	at := now.Add(time.Duration(pick(w.script, -1, 0, 1, 2, 6, 20)) * grid)
	before := w.upstream.GetWorkerUnsafe(workKey(i))
	if before != nil && before.FireAt.Equal(at) {
		uid = string(before.WorkItem.Object.UID) // upstream would ignore another
	}
	e := timedworker.Entry[int, string]{Key: i, Value: uid, Due: at}
	if keeping {
		e.OnDuplicate = timedworker.KeepFirst
	}
	created := now
	if i == lateKey {
		created = now.Add(-2 * grid)
		e.Due = now.Add(at.Sub(created)) // what upstream computes
	}
	result := w.ours.ScheduleEntry(e)
	if w.running[i] {
		_, void := w.void[i]
		w.behind(i, entry{uid, at, keeping}, result)
		if !void && keeping { // or it would run beside the other: see the test of upstream alone
			w.upstream.AddWork(w.ctx, args(i, uid), created, at)
			require.Same(w, before, w.upstream.GetWorkerUnsafe(workKey(i)), "nothing was added")
		}
		return
	}
	if keeping {
		w.upstream.AddWork(w.ctx, args(i, uid), created, at)
	} else {
		w.upstream.UpdateWork(w.ctx, args(i, uid), created, at)
	}
	if result == timedworker.Unknown && i == lateKey {
		w.fired[exactWork]++
	}
}

// behind records what ours queues behind running work: an entry that replaces, and one that comes after the work was
// cancelled.
func (w *works) behind(i int, e entry, result timedworker.State) {
	_, void := w.void[i]
	next := w.queued[i]
	want := timedworker.InFlight
	switch {
	case void && next == nil:
		want = timedworker.Unknown
	case void:
		want = timedworker.Waiting
	}
	require.Equal(w, want, result)
	if e.keeping && (want == timedworker.InFlight || want == timedworker.Waiting) {
		return
	}
	w.fired[queuedBehind]++
	w.queued[i] = &e
}

func (w *works) cancel(i int) {
	cancelled := w.upstream.CancelWork(logr.Discard(), workKey(i))
	result := w.ours.Cancel(i)
	if !w.running[i] {
		require.Equal(w, cancelled, result == timedworker.Waiting, result)
		return
	}
	if _, void := w.void[i]; !void {
		require.Equal(w, timedworker.InFlight, result)
	}
	if cancelled {
		w.fired[cancelRunning]++
	}
	w.void[i] = struct{}{}
	delete(w.queued, i)
}

// settle lets everything that is due run, repeats for upstream what ours does by itself when work ends, and compares.
func (w *works) settle() {
	for synctest.Wait(); len(w.finished) > 0; synctest.Wait() {
		w.mu.Lock()
		done, last := w.finished, maps.Clone(w.last)
		w.finished = map[int]error{}
		w.mu.Unlock()
		for i, err := range done {
			_, void := w.void[i]
			next := w.queued[i]
			delete(w.void, i)
			delete(w.queued, i)
			switch {
			case next != nil:
				w.upstream.AddWork(w.ctx, args(i, next.uid), time.Now(), next.at)
			case err != nil && !void:
				w.fired[differential.FailedWrites]++
				require.Nil(w, w.upstream.GetWorkerUnsafe(workKey(i)))
				w.upstream.AddWork(w.ctx, args(i, last[i]), time.Now(), time.Now().Add(backoff))
			}
		}
	}
	w.compare()
}

// compare requires that the same ran at the same instants, and that the same waits.
func (w *works) compare() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for side := range w.ran {
		slices.Sort(w.ran[side]) // what is due at one instant runs in any order
	}
	require.Equal(w, w.ran[upstreamSide], w.ran[oursSide])
	w.ran = [2][]string{}
	for i := range workKeys {
		status, known := w.ours.Get(i)
		_, void := w.void[i]
		require.Equal(w, w.running[i] && !void, status.State == timedworker.InFlight, i)
		if w.running[i] {
			continue
		}
		worker := w.upstream.GetWorkerUnsafe(workKey(i))
		require.Equal(w, worker != nil, known, i)
		if known {
			require.Equal(w, string(worker.WorkItem.Object.UID), status.Value)
		}
		if known && i != lateKey {
			require.Equal(w, worker.FireAt, status.Due)
		}
	}
}

// QueuedBehind and CancelRunning keep upstream from doing this, so this test shows it.
func TestUpstreamsWorkStillOverlapsAndIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := klog.NewContext(t.Context(), logr.Discard())
		var running, most, ran atomic.Int32
		q := tainteviction.CreateWorkerQueue(func(context.Context, time.Time, *tainteviction.WorkArgs) error {
			most.Store(max(most.Load(), running.Add(1)))
			ran.Add(1)
			time.Sleep(slowness)
			running.Add(-1)
			return nil
		})
		update := func(at time.Time) { q.UpdateWork(ctx, args(0, ""), time.Now(), at) }
		update(time.Now().Add(grid))
		time.Sleep(2 * grid)
		require.EqualValues(t, 1, running.Load())
		require.True(t, q.CancelWork(logr.Discard(), workKey(0)), "it says so, but it runs")
		update(time.Now().Add(grid))
		time.Sleep(2 * grid)
		require.EqualValues(t, 2, most.Load(), "the next one runs beside it")
		update(time.Now().Add(4 * slowness))
		time.Sleep(2 * slowness)
		require.False(t, q.CancelWork(logr.Discard(), workKey(0)), "the end of the one before took the last one away")
		time.Sleep(4 * slowness)
		require.EqualValues(t, 3, ran.Load(), "it runs nevertheless")
	})
}

func TestTimedWorkIsUpstreams(t *testing.T) {
	f := fired{}
	inBubbles(t, 400, 500, func(t *testing.T, s *script) { runWorks(t, s, f) })
	f.requireAll(t, workRules...)
}

func FuzzTimedWork(f *testing.F) { fuzzInBubbles(f, runWorks) }
