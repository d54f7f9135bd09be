package scheduler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor/compat/tainteviction"
)

// WorkArgs is what a piece of work is about.
type WorkArgs struct {
	NamespacedName types.NamespacedName
}

// KeyFromWorkArgs returns namespace/name.
func (w *WorkArgs) KeyFromWorkArgs() string { return w.NamespacedName.String() }

// NewWorkArgs returns WorkArgs.
func NewWorkArgs(name, namespace string) *WorkArgs {
	return &WorkArgs{types.NamespacedName{Namespace: namespace, Name: name}}
}

// TimedWorker is a piece of work that waits for its time, or runs. It is read-only.
type TimedWorker struct {
	WorkItem          *WorkArgs
	CreatedAt, FireAt time.Time

	worker *tainteviction.TimedWorker
}

// Cancel cancels the work, unless it has started. On a nil TimedWorker it does nothing.
func (w *TimedWorker) Cancel() {
	if w != nil {
		w.worker.Cancel()
	}
}

// TimedWorkerQueue runs work at its time: its callers want [TimedWorkerQueue.AddWork], [TimedWorkerQueue.CancelWork]
// and, at the end, [TimedWorkerQueue.CancelAndWait]. Make one with CreateWorkerQueue. It has goroutines from its first
// work until CancelAndWait. All methods are safe for concurrent use; all but CancelAndWait may be called from the
// work.
type TimedWorkerQueue struct {
	queue *tainteviction.TimedWorkerQueue
}

// CreateWorkerQueue returns a queue whose work is f.
func CreateWorkerQueue(f func(ctx context.Context, args *WorkArgs) error) *TimedWorkerQueue {
	if f == nil {
		panic("scheduler: CreateWorkerQueue needs a function that does the work, not nil") //nolint:forbidigo // upstream has no error to return
	}
	return &TimedWorkerQueue{tainteviction.CreateWorkerQueue(func(ctx context.Context, _ time.Time, args *tainteviction.WorkArgs) error {
		return f(ctx, &WorkArgs{args.Object.NamespacedName})
	})}
}

// AddWork runs the work after fireAt-createdAt, or at once if that is not positive. If the key is known, it does nothing.
func (q *TimedWorkerQueue) AddWork(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time) {
	q.queue.AddWork(ctx, tainteviction.NewWorkArgs(args.NamespacedName.Name, args.NamespacedName.Namespace), createdAt, fireAt)
}

// CancelWork cancels the work of that key, unless it has started, and forgets it. It returns true if the key was known and
// its work had to wait when it was added.
func (q *TimedWorkerQueue) CancelWork(key string) bool {
	return q.queue.CancelWork(klog.Background(), key)
}

// GetWorkerUnsafe returns the work of that key, or nil if there is none or it did not have to wait when it was added.
func (q *TimedWorkerQueue) GetWorkerUnsafe(key string) *TimedWorker {
	w := q.queue.GetWorkerUnsafe(key)
	if w == nil {
		return nil
	}
	return &TimedWorker{&WorkArgs{w.WorkItem.Object.NamespacedName}, w.CreatedAt, w.FireAt, w}
}

// CancelAndWait forgets all work, and returns when running work has ended. It must not be called from the work.
func (q *TimedWorkerQueue) CancelAndWait() { q.queue.CancelAndWait() }
