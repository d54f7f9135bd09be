package tainteviction

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/timedworker"
)

// Workers is how many pieces of work a TimedWorkerQueue runs at a time.
const Workers = 64

// TimedWorker is a piece of work that waits for its time, or runs. Nobody changes it.
type TimedWorker struct {
	WorkItem          *WorkArgs
	CreatedAt, FireAt time.Time

	ctx   context.Context //nolint:containedctx // the one of AddWork, which upstream hands to the work
	queue *TimedWorkerQueue
}

// Cancel has the work not run, unless it has started. Of nil it does nothing.
func (w *TimedWorker) Cancel() {
	if w != nil {
		w.queue.cancel(w.WorkItem.KeyFromWorkArgs(), w)
	}
}

// timed says whether the work was to wait when it was added.
func (w *TimedWorker) timed() bool { return w.FireAt.After(w.CreatedAt) }

// TimedWorkerQueue runs work at its time. Make one with CreateWorkerQueue. It has goroutines from its first work to CancelAndWait. All methods
// are safe for concurrent use, also from the work.
type TimedWorkerQueue struct {
	workFunc func(ctx context.Context, fireAt time.Time, args *WorkArgs) error
	clock    clock.WithDelayedExecution

	sync.Mutex                                        // guards what follows
	set        *timedworker.Set[string, *TimedWorker] // nil until the first work
	stop       func()                                 // ends Run; nil while it does not run
	ended      chan struct{}                          // closed when it has; nil before the first
}

// CreateWorkerQueue returns a queue whose work is f.
func CreateWorkerQueue(f func(ctx context.Context, fireAt time.Time, args *WorkArgs) error) *TimedWorkerQueue {
	return &TimedWorkerQueue{workFunc: f, clock: clock.RealClock{}}
}

// AddWork has the work done after fireAt-createdAt, at once where that is not above 0. A key that is known stays as it is.
func (q *TimedWorkerQueue) AddWork(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time) {
	q.add(ctx, args, createdAt, fireAt, timedworker.KeepFirst)
}

// UpdateWork is AddWork, but what waits for another time is replaced. What runs and was due at once when it was added, or at the
// same time, stays; behind other work that runs, the new one waits.
func (q *TimedWorkerQueue) UpdateWork(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time) {
	q.add(ctx, args, createdAt, fireAt, timedworker.Replace)
}

func (q *TimedWorkerQueue) add(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time, policy timedworker.Duplicate) {
	q.Lock()
	defer q.Unlock()
	key := args.KeyFromWorkArgs()
	if q.set == nil {
		set, err := timedworker.New(q.work, timedworker.Config{Workers: Workers, Clock: q.clock})
		if err != nil {
			panic(err) //nolint:forbidigo // the configuration is ours, and has no faults
		}
		q.set = set
	}
	e := timedworker.Entry[string, *TimedWorker]{
		Key: key, Value: &TimedWorker{args, createdAt, fireAt, ctx, q}, OnDuplicate: policy, WhileInFlight: timedworker.Ignore,
	}
	if st, known := q.set.Get(key); known && policy == timedworker.Replace {
		if st.Running && !st.Value.timed() || st.Value.FireAt.Equal(fireAt) {
			return
		}
		e.WhileInFlight = timedworker.Again
	}
	now := q.clock.Now()
	if wait := fireAt.Sub(createdAt); wait > 0 {
		e.Due = now.Add(wait)
	}
	q.set.ScheduleEntryAt(e, now)
	q.run()
}

// run has the work done, if that is not so yet; q is locked.
func (q *TimedWorkerQueue) run() {
	if q.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	before, ended := q.ended, make(chan struct{})
	q.stop, q.ended = stop, ended
	go func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		_ = q.set.Run(ctx)
	}()
}

func (q *TimedWorkerQueue) work(_ context.Context, w timedworker.Work[string, *TimedWorker]) timedworker.Result {
	if err := q.workFunc(w.Value.ctx, w.Value.FireAt, w.Value.WorkItem); err != nil {
		klog.FromContext(w.Value.ctx).Error(err, "Timed work failed", "item", w.Key)
	}
	return timedworker.Done()
}

// CancelWork has the work of that key not run, and forgets it. It says whether it was known and, if it runs, had to wait.
func (q *TimedWorkerQueue) CancelWork(_ klog.Logger, key string) bool {
	w := q.GetWorkerUnsafe(key)
	q.cancel(key, w)
	return w != nil
}

// cancel cancels the work of a key, if it is that or, for nil, whichever.
func (q *TimedWorkerQueue) cancel(key string, w *TimedWorker) {
	q.Lock()
	defer q.Unlock()
	if q.set == nil {
		return
	}
	if st, known := q.set.Get(key); known && (w == nil || st.Value == w) {
		q.set.Cancel(key)
	}
}

// GetWorkerUnsafe is the work of that key; nil when there is none, or it had not to wait.
func (q *TimedWorkerQueue) GetWorkerUnsafe(key string) *TimedWorker {
	q.Lock()
	defer q.Unlock()
	if q.set != nil {
		if st, known := q.set.Get(key); known && st.Value.timed() {
			return st.Value
		}
	}
	return nil
}

// CancelAndWait forgets all work, and returns when what runs has ended. It must not be called from the work.
func (q *TimedWorkerQueue) CancelAndWait() {
	q.Lock()
	stop, ended := q.stop, q.ended
	if q.stop = nil; stop != nil {
		q.set.Clear()
		stop()
	}
	q.Unlock()
	if ended != nil {
		<-ended
	}
}
