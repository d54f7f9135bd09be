package tainteviction

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/timedworker"
)

// Workers is how many pieces of work a TimedWorkerQueue runs at a time, at most.
const Workers = 64

// NamespacedObject is a name with its namespace and, if known, the UID.
type NamespacedObject struct {
	types.NamespacedName
	UID types.UID
}

// String returns namespace/name, or namespace/name:uid if there is a UID.
func (n NamespacedObject) String() string {
	s := n.NamespacedName.String()
	if n.UID != "" {
		s += ":" + string(n.UID)
	}
	return s
}

// MarshalLog returns what structured logs show.
func (n NamespacedObject) MarshalLog() any {
	return struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace,omitempty"`
		UID       types.UID `json:"uid,omitempty"`
	}{n.Name, n.Namespace, n.UID}
}

// WorkArgs is what a piece of work is about.
type WorkArgs struct {
	// Object has a UID only if the caller of AddWork or UpdateWork set one.
	Object NamespacedObject
}

// KeyFromWorkArgs returns namespace/name: the UID is not part of the key.
func (w *WorkArgs) KeyFromWorkArgs() string { return w.Object.NamespacedName.String() }

// NewWorkArgs returns WorkArgs without a UID.
func NewWorkArgs(name, namespace string) *WorkArgs {
	return &WorkArgs{NamespacedObject{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// TimedWorker is a piece of work that waits for its time, or runs. It is read-only.
type TimedWorker struct {
	WorkItem          *WorkArgs
	CreatedAt, FireAt time.Time

	ctx       context.Context //nolint:containedctx // AddWork's context, which upstream passes to the work
	cancelled atomic.Bool
}

// Cancel cancels the work, unless it has started. Its key stays known until CancelWork. On a nil TimedWorker it does
// nothing.
func (w *TimedWorker) Cancel() {
	if w != nil {
		w.cancelled.Store(true)
	}
}

// timed says whether the work had to wait when it was added.
func (w *TimedWorker) timed() bool { return w.FireAt.After(w.CreatedAt) }

// TimedWorkerQueue runs work at its time: its callers want [TimedWorkerQueue.AddWork], [TimedWorkerQueue.CancelWork]
// and, at the end, [TimedWorkerQueue.CancelAndWait]. Make one with CreateWorkerQueue. It has goroutines from its first
// work until CancelAndWait. All methods are safe for concurrent use; all but CancelAndWait may be called from the
// work.
type TimedWorkerQueue struct {
	workFunc func(ctx context.Context, fireAt time.Time, args *WorkArgs) error
	clock    clock.WithDelayedExecution

	sync.Mutex                                        // guards set and end
	set        *timedworker.Set[string, *TimedWorker] // runs; nil before the first work and after CancelAndWait
	end        func()                                 // ends set's Run
}

// CreateWorkerQueue returns a queue whose work is f.
func CreateWorkerQueue(f func(ctx context.Context, fireAt time.Time, args *WorkArgs) error) *TimedWorkerQueue {
	if f == nil {
		panic("tainteviction: CreateWorkerQueue needs a function that does the work, not nil") //nolint:forbidigo // upstream has no error to return
	}
	return &TimedWorkerQueue{workFunc: f, clock: clock.RealClock{}, end: func() {}}
}

// AddWork runs the work after fireAt-createdAt, or at once if that is not positive. If the key is known, it does nothing.
func (q *TimedWorkerQueue) AddWork(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time) {
	q.add(ctx, args, createdAt, fireAt, timedworker.KeepFirst)
}

// UpdateWork is AddWork, but replaces work of the same key. It does nothing if the known work was due at once, or has the
// same fireAt. Behind other running work, the new work waits for its end.
func (q *TimedWorkerQueue) UpdateWork(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time) {
	q.add(ctx, args, createdAt, fireAt, timedworker.Replace)
}

func (q *TimedWorkerQueue) add(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time, policy timedworker.Duplicate) {
	q.Lock()
	defer q.Unlock()
	if q.set == nil {
		q.run()
	}
	key := args.KeyFromWorkArgs()
	if st, known := q.get(key); known && policy == timedworker.Replace && (!st.Value.timed() || st.Value.FireAt.Equal(fireAt)) {
		return
	}
	q.set.ScheduleEntry(timedworker.Entry[string, *TimedWorker]{
		Key: key, Value: &TimedWorker{WorkItem: args, CreatedAt: createdAt, FireAt: fireAt, ctx: ctx},
		Due: q.clock.Now().Add(fireAt.Sub(createdAt)), OnDuplicate: policy,
	})
}

// run starts the workers; q is locked.
func (q *TimedWorkerQueue) run() {
	set, _ := timedworker.New(q.work, timedworker.Config{Workers: Workers, Clock: q.clock, OnPanic: panicked}) // this configuration is valid
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	q.set, q.end = set, func() { stop(); <-ended }
	go func() {
		defer close(ended)
		_ = set.Run(ctx)
	}()
}

// panicked logs a panic of the work.
func panicked(key, value any, stack []byte) {
	klog.Background().Error(fmt.Errorf("panic: %v", value), "Timed work panicked and will be tried again", "item", key, "stack", string(stack))
}

func (q *TimedWorkerQueue) work(_ context.Context, w timedworker.Work[string, *TimedWorker]) timedworker.Result {
	if w.Value.cancelled.Load() {
		return timedworker.Blocked(math.MaxInt64) // until CancelWork
	}
	if err := q.workFunc(w.Value.ctx, w.Value.FireAt, w.Value.WorkItem); err != nil {
		klog.FromContext(w.Value.ctx).Error(err, "Timed work failed", "item", w.Key)
	}
	return timedworker.Forget()
}

// CancelWork cancels the work of that key, unless the work has started, and forgets it. It returns true if the key was
// known and its work had to wait when it was added.
func (q *TimedWorkerQueue) CancelWork(_ klog.Logger, key string) bool {
	q.Lock()
	defer q.Unlock()
	st, known := q.get(key)
	if known {
		q.set.Cancel(key)
	}
	return known && st.Value.timed()
}

// GetWorkerUnsafe returns the work of that key, or nil if there is none or it did not have to wait when it was added.
func (q *TimedWorkerQueue) GetWorkerUnsafe(key string) *TimedWorker {
	q.Lock()
	defer q.Unlock()
	if st, known := q.get(key); known && st.Value.timed() {
		return st.Value
	}
	return nil
}

// get returns the work of that key, timed or not; q is locked.
func (q *TimedWorkerQueue) get(key string) (st timedworker.Status[string, *TimedWorker], known bool) {
	if q.set != nil {
		st, known = q.set.Get(key)
	}
	return st, known
}

// CancelAndWait forgets all work, and returns when running work has ended. It must not be called from the work.
func (q *TimedWorkerQueue) CancelAndWait() {
	q.Lock()
	end := q.end
	q.set = nil
	q.Unlock()
	end()
}
