package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/timedworker"
)

const (
	workSpread = 5 * time.Minute
	workAhead  = time.Hour // nothing is due earlier
)

// pods are the work of both sides, spread over five minutes.
type pods struct {
	setting
	keys  []evictor.PodKey
	begin time.Time // by the bubble's clock, if in one
}

func (p pods) at(i int) time.Time {
	return p.begin.Add(workAhead + time.Duration(i*7919%int(workSpread/time.Millisecond))*time.Millisecond)
}

func (p pods) name(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: p.keys[i].Namespace, Name: p.keys[i].Name}
}

type workSet = timedworker.Set[evictor.PodKey, types.UID]

func (p pods) set(work func()) *workSet {
	set, err := timedworker.New(func(context.Context, timedworker.Work[evictor.PodKey, types.UID]) timedworker.Result {
		work()
		return timedworker.Forget()
	}, timedworker.Config{})
	if err != nil {
		p.Fatal(err)
	}
	return set
}

func (p pods) schedule(set *workSet, i int) {
	set.Schedule(p.keys[i], someUID, p.at(i))
}

func (p pods) full() *workSet {
	set := p.set(func() {})
	for i := range p.keys {
		p.schedule(set, i)
	}
	return set
}

func (p pods) queue(work func()) *tainteviction.TimedWorkerQueue {
	return tainteviction.CreateWorkerQueue(func(context.Context, time.Time, *tainteviction.WorkArgs) error {
		work()
		return nil
	})
}

func (p pods) add(ctx context.Context, queue *tainteviction.TimedWorkerQueue, i int) {
	queue.AddWork(ctx, &tainteviction.WorkArgs{Object: tainteviction.NamespacedObject{NamespacedName: p.name(i), UID: someUID}}, p.begin, p.at(i))
}

func (p pods) fullQueue(ctx context.Context) *tainteviction.TimedWorkerQueue {
	queue := p.queue(func() {})
	for i := range p.keys {
		p.add(ctx, queue, i)
	}
	return queue
}

func workRows(s setting, n int) []row {
	if n >= 100_000 {
		n += n / 2
	}
	p := pods{setting: s, keys: podKeys(n), begin: time.Now()}
	order := anyOrder(n)
	ctx := klog.NewContext(context.Background(), logr.Discard())
	moved, held, done := row{work: "timed work: Cancel and Schedule", n: n}, row{work: "timed work: heap an item", n: n}, row{work: "timed work: scheduled and carried out", n: n}

	moved.ours, moved.upstream = pair(s.runs, func() cost {
		set := p.full()
		return s.operations(func(i int) {
			k := order[i%len(order)]
			set.Cancel(p.keys[k])
			p.schedule(set, k)
		})
	}, func() cost {
		queue := p.fullQueue(ctx)
		defer queue.CancelAndWait() // otherwise the timers stay
		return s.operations(func(i int) {
			k := order[i%len(order)]
			queue.CancelWork(logr.Discard(), p.name(k).String())
			p.add(ctx, queue, k)
		})
	})

	held.ours, held.upstream = pair(s.runs, func() cost {
		return grown(func() any { return p.full() }).per(n)
	}, func() cost {
		var queue *tainteviction.TimedWorkerQueue
		defer func() { queue.CancelAndWait() }()
		return grown(func() any { queue = p.fullQueue(ctx); return queue }).per(n)
	})

	done.ours, done.upstream = pair(s.runs, func() cost {
		return p.carriedOut(func(p *pods, work func()) (func(int), func()) {
			set := p.set(work)
			ctx, cancel := context.WithCancel(ctx)
			var running sync.WaitGroup
			running.Go(func() { _ = set.Run(ctx) }) // ends with the context
			return func(i int) { p.schedule(set, i) }, func() { cancel(); running.Wait() }
		})
	}, func() cost {
		return p.carriedOut(func(p *pods, work func()) (func(int), func()) {
			queue := p.queue(work)
			return func(i int) { p.add(ctx, queue, i) }, queue.CancelAndWait
		})
	})
	return []row{moved, held, done}
}

// carriedOut lets all of the work fall due in virtual time, and returns the cost of one piece.
func (p pods) carriedOut(start func(p *pods, work func()) (schedule func(i int), stop func())) (c cost) {
	n := len(p.keys)
	synctest.Test(p.T, func(t *testing.T) {
		var ran atomic.Int64
		rounds := 0
		schedule, stop := start(&p, func() { ran.Add(1) })
		defer stop()
		synctest.Wait()
		c = p.operations(func(int) {
			p.begin = time.Now()
			for i := range n {
				schedule(i)
			}
			clock.RealClock{}.Sleep(workAhead + workSpread)
			synctest.Wait()
			rounds++
		}).per(n)
		if int(ran.Load()) != rounds*n {
			t.Errorf("%d works ran instead of %d", ran.Load(), rounds*n)
		}
	})
	return c
}
