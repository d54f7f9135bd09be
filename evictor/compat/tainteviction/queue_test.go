package tainteviction

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

// A fork changes the import.
func ExampleTimedWorkerQueue() {
	evicted := make(chan string)
	q := CreateWorkerQueue(func(_ context.Context, _ time.Time, args *WorkArgs) error {
		evicted <- args.Object.String()
		return nil
	})
	now := time.Now()
	q.AddWork(context.Background(), NewWorkArgs("pod-1", "default"), now, now)
	q.AddWork(context.Background(), NewWorkArgs("pod-2", "default"), now, now.Add(time.Hour))
	fmt.Println(<-evicted)
	fmt.Println(q.CancelWork(klog.Background(), "default/pod-2"))
	q.CancelAndWait()
	// Output:
	// default/pod-1
	// true
}

// blocked is a queue whose work says that it has begun, and waits until it may end.
func blocked() (q *TimedWorkerQueue, clock *clocktesting.FakeClock, began chan string, end chan struct{}) {
	began, end = make(chan string), make(chan struct{})
	clock = clocktesting.NewFakeClock(time.Unix(0, 0))
	q = CreateWorkerQueue(func(_ context.Context, _ time.Time, args *WorkArgs) error {
		began <- args.Object.String()
		<-end
		return errors.New("is logged")
	})
	q.clock = clock
	return q, clock, began, end
}

// TestNeverSideBySide: what is added after CancelWork, or moved, waits for what runs with its key.
func TestNeverSideBySide(t *testing.T) {
	ctx, start := context.Background(), time.Unix(0, 0)
	for name, successor := range map[string]func(*TimedWorkerQueue, *WorkArgs){
		"added after it was cancelled": func(q *TimedWorkerQueue, args *WorkArgs) {
			require.True(t, q.CancelWork(klog.Background(), "default/a"))
			require.Nil(t, q.GetWorkerUnsafe("default/a"))
			q.AddWork(ctx, args, start, start)
		},
		"moved": func(q *TimedWorkerQueue, args *WorkArgs) { q.UpdateWork(ctx, args, start, start) },
	} {
		t.Run(name, func(t *testing.T) {
			q, clock, began, end := blocked()
			args := NewWorkArgs("a", "default")
			q.AddWork(ctx, args, start, start.Add(time.Second))
			require.Equal(t, start.Add(time.Second), q.GetWorkerUnsafe("default/a").FireAt)
			clock.Step(time.Second)
			require.Equal(t, "default/a", <-began)
			next := *args
			next.Object.UID = "2"
			successor(q, &next)
			select {
			case who := <-began:
				require.Fail(t, "runs beside it", who)
			default:
			}
			end <- struct{}{}
			require.Equal(t, "default/a:2", <-began)
			end <- struct{}{}
			q.CancelAndWait()
		})
	}
}

// TestNoMoreThanWorkers run at a time.
func TestNoMoreThanWorkers(t *testing.T) {
	q, _, began, end := blocked()
	start := time.Unix(0, 0)
	for i := range Workers + 1 {
		q.AddWork(context.Background(), NewWorkArgs(fmt.Sprint(i), "default"), start, start)
	}
	for range Workers {
		<-began
	}
	select {
	case who := <-began:
		require.Fail(t, "one too many", who)
	default:
	}
	end <- struct{}{}
	<-began
	close(end)
	q.CancelAndWait()
}

// TestWhatIsNotThere cannot be cancelled.
func TestWhatIsNotThere(t *testing.T) {
	var none *TimedWorker
	none.Cancel()
	q, _, _, _ := blocked()
	require.False(t, q.CancelWork(klog.Background(), "default/a"))
	require.Nil(t, q.GetWorkerUnsafe("default/a"))
	q.CancelAndWait()
}

// TestWorkThatIsDueAtOnceIsNotMoved, even if it waits for a worker.
func TestWorkThatIsDueAtOnceIsNotMoved(t *testing.T) {
	q, _, began, end := blocked()
	start := time.Unix(0, 0)
	for i := range Workers {
		q.AddWork(context.Background(), NewWorkArgs(fmt.Sprint(i), "default"), start, start)
		<-began
	}
	q.AddWork(context.Background(), NewWorkArgs("last", "default"), start, start)
	q.UpdateWork(context.Background(), NewWorkArgs("last", "default"), start, start.Add(time.Hour))
	close(end)
	require.Equal(t, "default/last", <-began)
	q.CancelAndWait()
}

func TestLogsShowTheObject(t *testing.T) {
	args := NewWorkArgs("a", "default")
	require.Equal(t, struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
		UID       string `json:"uid,omitempty"`
	}{"a", "default", ""}, func() (s struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
		UID       string `json:"uid,omitempty"`
	}) {
		s.Name, s.Namespace = args.Object.Name, args.Object.Namespace
		return s
	}())
}

// Whoever adds and cancels at the same time, all work is done, and nothing is left running.
func TestConcurrently(t *testing.T) {
	var mu sync.Mutex
	did := map[string]int{}
	q := CreateWorkerQueue(func(_ context.Context, _ time.Time, args *WorkArgs) error {
		mu.Lock()
		defer mu.Unlock()
		did[args.Object.Name]++
		return nil
	})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range 200 {
				now := time.Now()
				q.AddWork(context.Background(), NewWorkArgs(fmt.Sprint(worker, i), "default"), now, now)
				q.CancelWork(klog.Background(), fmt.Sprint("default/other", i))
			}
		}()
	}
	all.Wait()
	for len(q.set.All()) > 0 {
		runtime.Gosched()
	}
	q.CancelAndWait()
	require.Len(t, did, 800)
}
