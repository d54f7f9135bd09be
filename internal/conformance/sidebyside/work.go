package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/timedworker"
)

type workSet = timedworker.Set[evictor.PodKey, struct{}]

// fireAt spreads the n works over five minutes that begin in an hour, so that nothing fires meanwhile.
func fireAt(begin time.Time, i int) time.Time {
	return begin.Add(time.Hour + time.Duration(i*7919%300_000)*time.Millisecond)
}

func workRows(s setting, n int) []row {
	if n >= 100_000 {
		n += n / 2
	}
	keys := podKeys(n)
	order := anyOrder(n)
	begin := time.Now()
	ctx := klog.NewContext(context.Background(), logr.Discard())

	schedule := func(set *workSet, i int) {
		set.ScheduleEntry(timedworker.Entry[evictor.PodKey, struct{}]{Key: keys[i], Identity: someUID, At: fireAt(begin, i)})
	}
	fill := func() any {
		set, err := timedworker.New(func(context.Context, timedworker.Work[evictor.PodKey, struct{}]) timedworker.Result {
			return timedworker.Done()
		}, timedworker.Config{})
		if err != nil {
			s.Fatal(err)
		}
		for i := range keys {
			schedule(set, i)
		}
		return set
	}

	name := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: keys[i].Namespace, Name: keys[i].Name}
	}
	add := func(queue *tainteviction.TimedWorkerQueue, i int) {
		queue.AddWork(ctx, &tainteviction.WorkArgs{Object: tainteviction.NamespacedObject{NamespacedName: name(i), UID: someUID}}, begin, fireAt(begin, i))
	}
	fillUpstream := func() any {
		queue := tainteviction.CreateWorkerQueue(func(context.Context, time.Time, *tainteviction.WorkArgs) error { return nil })
		for i := range keys {
			add(queue, i)
		}
		return queue
	}

	work := "timed work: Cancel and Schedule"
	var times, bytes row
	{
		set := fill().(*workSet) //nolint:errcheck // fill makes nothing else
		times = row{work: work, n: n, ours: operation(s.runs, func(i int) {
			k := order[i%len(order)]
			set.Cancel(keys[k])
			schedule(set, k)
		})}
	}
	{
		queue := fillUpstream().(*tainteviction.TimedWorkerQueue) //nolint:errcheck // the same
		times.upstream = operation(s.runs, func(i int) {
			k := order[i%len(order)]
			queue.CancelWork(logr.Discard(), name(k).String())
			add(queue, k)
		})
		queue.CancelAndWait() // or their timers stay
	}
	var grown any
	bytes = row{work: "timed work: heap an item", n: n, ours: growth(n, fill)}
	bytes.upstream = growth(n, func() any { grown = fillUpstream(); return grown })
	if queue, ok := grown.(*tainteviction.TimedWorkerQueue); ok {
		queue.CancelAndWait()
	}
	return []row{times, bytes}
}
