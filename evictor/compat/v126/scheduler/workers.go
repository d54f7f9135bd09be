package scheduler

import (
	"context"
	"sync"
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

// Cancel cancels the work, unless it has started. Its key stays known until CancelWork. On a nil TimedWorker it does
// nothing.
func (w *TimedWorker) Cancel() {
	if w != nil {
		w.worker.Cancel()
	}
}

// TimedWorkerQueue runs work at its time: its callers want [TimedWorkerQueue.AddWork], [TimedWorkerQueue.CancelWork]
// and, at the end, [TimedWorkerQueue.CancelAndWait]. Make one with CreateWorkerQueue. It has goroutines from its first
// work until CancelAndWait. All methods are safe for concurrent use; all but CancelAndWait may be called from the
// work. A key whose work succeeded is known, and takes memory, until CancelWork.
type TimedWorkerQueue struct {
	workFunc func(ctx context.Context, args *WorkArgs) error
	queue    *tainteviction.TimedWorkerQueue

	sync.Mutex                  // guards known
	known      map[string]*work // what waits or runs, and what has succeeded
}

// work is what is known by one key.
type work struct {
	args   *tainteviction.WorkArgs // tells it from other work of the same key; nil if it has succeeded
	worker *TimedWorker            // nil if it did not have to wait when it was added, or has succeeded
}

// CreateWorkerQueue returns a queue whose work is f.
func CreateWorkerQueue(f func(ctx context.Context, args *WorkArgs) error) *TimedWorkerQueue {
	if f == nil {
		panic("scheduler: CreateWorkerQueue needs a function that does the work, not nil") //nolint:forbidigo // upstream has no error to return
	}
	q := &TimedWorkerQueue{workFunc: f, known: map[string]*work{}}
	q.queue = tainteviction.CreateWorkerQueue(q.work)
	return q
}

// AddWork runs the work after fireAt-createdAt, or at once if that is not positive. If the key is known, it does nothing.
func (q *TimedWorkerQueue) AddWork(ctx context.Context, args *WorkArgs, createdAt, fireAt time.Time) {
	q.Lock()
	defer q.Unlock()
	key := args.KeyFromWorkArgs()
	if q.known[key] != nil {
		return
	}
	added := &work{args: tainteviction.NewWorkArgs(args.NamespacedName.Name, args.NamespacedName.Namespace)}
	q.queue.CancelWork(klog.Background(), key) // of work that is just ending
	q.queue.AddWork(ctx, added.args, createdAt, fireAt)
	if timed := q.queue.GetWorkerUnsafe(key); timed != nil {
		added.worker = &TimedWorker{args, createdAt, fireAt, timed}
	}
	q.known[key] = added
}

// work does the work. If it succeeds, its key stays known, even if the work was cancelled while it ran; not so if other
// work has taken the key since.
func (q *TimedWorkerQueue) work(ctx context.Context, _ time.Time, args *tainteviction.WorkArgs) error {
	err := q.workFunc(ctx, &WorkArgs{args.Object.NamespacedName})
	q.Lock()
	defer q.Unlock()
	key := args.KeyFromWorkArgs()
	switch is := q.known[key]; {
	case is != nil && is.args != args:
	case err == nil:
		q.known[key] = &work{}
	default:
		delete(q.known, key)
	}
	return err
}

// CancelWork cancels the work of that key, unless it has started, and forgets it. It returns true if the work had to wait
// when it was added, and has not ended.
func (q *TimedWorkerQueue) CancelWork(key string) bool {
	q.Lock()
	defer q.Unlock()
	is := q.known[key]
	delete(q.known, key)
	q.queue.CancelWork(klog.Background(), key)
	return is != nil && is.worker != nil
}

// GetWorkerUnsafe returns the work of that key, or nil if there is none, it did not have to wait when it was added, or it
// has ended.
func (q *TimedWorkerQueue) GetWorkerUnsafe(key string) *TimedWorker {
	q.Lock()
	defer q.Unlock()
	if is := q.known[key]; is != nil {
		return is.worker
	}
	return nil
}

// CancelAndWait forgets all work, and returns when running work has ended. It must not be called from the work.
func (q *TimedWorkerQueue) CancelAndWait() {
	q.queue.CancelAndWait()
	q.Lock()
	defer q.Unlock()
	clear(q.known)
}
