package timedworker

import (
	"context"
	"fmt"
	"math/rand"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

type podName struct{ Namespace, Name string }

func podNames(n int) []podName {
	names := make([]podName, n)
	for i := range names {
		names[i] = podName{fmt.Sprintf("namespace-%d", i%100), fmt.Sprintf("deployment-%d-pod", i)}
	}
	rand.New(rand.NewSource(1)).Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// Fake clock, shuffled keys {namespace, name}, the UID as value.
func BenchmarkCancelSchedule150000FakeClock(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	set, _ := New(func(context.Context, Work[podName, string]) Result { return Forget() }, Config{Clock: clk})
	names := podNames(150000)
	entry := func(i int) Entry[podName, string] {
		return Entry[podName, string]{Key: names[i], Value: "0a1b2c3d-uid", Due: epoch.Add(time.Duration(i*7919%300000) * time.Millisecond)}
	}
	for i := range names {
		set.ScheduleEntry(entry(i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		k := i % len(names)
		set.Cancel(names[k])
		set.ScheduleEntry(entry(k))
	}
}

// Bytes per item at 1,000,000, without those of the strings.
func BenchmarkMemory1000000(b *testing.B) {
	names := podNames(1000000)
	for i := 0; i < b.N; i++ {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set, _ := New(func(context.Context, Work[podName, string]) Result { return Forget() }, Config{Clock: testingclock.NewFakePassiveClock(epoch)})
		for k, name := range names {
			set.ScheduleEntry(Entry[podName, string]{Key: name, Value: "uid", Due: epoch.Add(time.Duration(k))})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "B/item")
		runtime.KeepAlive(set)
	}
}

func benchmarkDue(b *testing.B, spread time.Duration) {
	const works = 1000000
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		var ran atomic.Int64
		done := make(chan struct{})
		set, _ := New(func(context.Context, Work[int, struct{}]) Result {
			if ran.Add(1) == works {
				close(done)
			}
			return Forget()
		}, Config{Workers: 2})
		at := time.Now().Add(-time.Hour)
		order := rand.New(rand.NewSource(1)).Perm(works)
		for _, k := range order {
			set.Schedule(k, struct{}{}, at.Add(spread*time.Duration(k)))
		}
		ctx, stop := context.WithCancel(context.Background())
		b.StartTimer()
		go set.Run(ctx)
		<-done
		b.StopTimer()
		stop()
		b.ReportMetric(works*float64(i+1)/b.Elapsed().Seconds(), "works/s")
	}
}

// Real clock, 2 workers, empty work.
func BenchmarkDueAtOneInstant1000000(b *testing.B) { benchmarkDue(b, 0) }

func BenchmarkDueSpread1000000(b *testing.B) { benchmarkDue(b, time.Microsecond) }

// How much is kept after 1,000,000 keys came and went, in percent of the peak, and how much the first filling
// allocates.
func BenchmarkKeptAfter1000000(b *testing.B) {
	keys := names(1000000)
	for i := 0; i < b.N; i++ {
		before, allocatedBefore := allocated()
		set, _ := New(func(context.Context, Work[string, int64]) Result { return Forget() }, Config{Clock: testingclock.NewFakePassiveClock(epoch)})
		for _, key := range keys {
			set.Schedule(key, 1, epoch)
		}
		peak, allocatedThen := allocated()
		for _, key := range keys {
			set.Cancel(key)
		}
		after, _ := allocated()
		b.ReportMetric(100*float64(after-before)/float64(peak-before), "%kept")
		b.ReportMetric(float64(allocatedThen-allocatedBefore)/1e6, "B/filling")
		runtime.KeepAlive(set)
	}
}
