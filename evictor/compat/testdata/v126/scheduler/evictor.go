package scheduler

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Evictor is in the folder of the timed workers and uses them, as upstream's taint manager does.
type Evictor struct {
	queue *TimedWorkerQueue
	did   chan struct{}
}

// NewEvictor returns an Evictor.
func NewEvictor(evict func(pod string)) *Evictor {
	e := &Evictor{did: make(chan struct{})}
	e.queue = CreateWorkerQueue(func(_ context.Context, args *WorkArgs) error {
		evict(args.NamespacedName.Name + " of " + args.NamespacedName.Namespace)
		e.did <- struct{}{}
		return nil
	})
	return e
}

// Evict evicts a pod after a time. It returns the key, and how long it waits.
func (e *Evictor) Evict(namespace, name string, after time.Duration) string {
	now := time.Now()
	e.queue.AddWork(context.TODO(), NewWorkArgs(name, namespace), now, now.Add(after))
	worker := e.queue.GetWorkerUnsafe(types.NamespacedName{Namespace: namespace, Name: name}.String())
	if worker == nil {
		return "at once"
	}
	return fmt.Sprint(worker.WorkItem.KeyFromWorkArgs(), " in ", worker.FireAt.Sub(worker.CreatedAt))
}

// Cancel cancels an eviction, and says whether it came in time.
func (e *Evictor) Cancel(namespace, name string) bool {
	return e.queue.CancelWork(NewWorkArgs(name, namespace).KeyFromWorkArgs())
}

// Wait waits for one eviction.
func (e *Evictor) Wait() { <-e.did }
