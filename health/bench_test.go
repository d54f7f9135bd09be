package health

import (
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

const many = 100000

func shuffled() []string {
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("node-%06d.example", i)
	}
	rand.New(rand.NewSource(1)).Shuffle(many, func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

func monitorOfMany(b *testing.B, clk clock.PassiveClock, names []string) *Monitor {
	config := DefaultConfig()
	config.Clock = clk
	m, err := NewMonitor(config)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		m.ObserveNode(node(name, "uid", v1.ConditionTrue, 0))
	}
	m.Pass()
	rand.New(rand.NewSource(2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return m
}

func benchmarkRenewal(b *testing.B, clk clock.PassiveClock) {
	names := shuffled()
	m := monitorOfMany(b, clk, names)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		m.ObserveLease(names[i%many], epoch.Add(time.Duration(i)), "")
	}
}

// 100,000 nodes, shuffled names.
func BenchmarkRenewalFakeClock(b *testing.B) {
	benchmarkRenewal(b, testingclock.NewFakePassiveClock(epoch))
}

func BenchmarkRenewalRealClock(b *testing.B) { benchmarkRenewal(b, clock.RealClock{}) }

// Nothing but a map with a mutex that remembers when each name was heard of, on a fake clock.
func BenchmarkRenewalPlain(b *testing.B) {
	names := shuffled()
	heard := map[string]*struct{ renewed, at time.Time }{}
	for _, name := range names {
		heard[name] = &struct{ renewed, at time.Time }{}
	}
	rand.New(rand.NewSource(2)).Shuffle(many, func(i, j int) { names[i], names[j] = names[j], names[i] })
	clk, mu := testingclock.NewFakePassiveClock(epoch), sync.Mutex{}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		mu.Lock()
		h := heard[names[i%many]]
		h.renewed, h.at = epoch.Add(time.Duration(i)), clk.Now()
		mu.Unlock()
	}
}

func BenchmarkBeatFakeClock(b *testing.B) {
	names := shuffled()
	d, _ := NewDeadlines[string](DeadlinesConfig{Grace: time.Minute, Clock: testingclock.NewFakePassiveClock(epoch)})
	for _, name := range names {
		d.Beat(name)
	}
	rand.New(rand.NewSource(2)).Shuffle(many, func(i, j int) { names[i], names[j] = names[j], names[i] })
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		d.Beat(names[i%many])
	}
}

// A pass over 100,000 nodes, none of which has changed or expired.
func BenchmarkPassNothingDue(b *testing.B) {
	m := monitorOfMany(b, testingclock.NewFakePassiveClock(epoch), shuffled())
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if m.Pass() != nil {
			b.Fatal("somebody has something to say")
		}
	}
}

// The slowest pass of the grid while half of 100,000 nodes renew between two passes and none expires.
func BenchmarkWorstPass(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	names := shuffled()
	m := monitorOfMany(b, clk, names)
	worst := time.Duration(0)
	for i := 0; i < b.N; i++ {
		for k := 0; k < many/2; k++ {
			m.ObserveLease(names[(i%2)*many/2+k], clk.Now(), "")
		}
		next, _ := m.Next()
		clk.SetTime(next)
		began := time.Now()
		m.Pass()
		worst = max(worst, time.Since(began))
	}
	b.ReportMetric(float64(worst.Nanoseconds()), "worst-ns/pass")
}

func BenchmarkMemory(b *testing.B) {
	names := shuffled()
	for i := 0; i < b.N; i++ {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := monitorOfMany(b, testingclock.NewFakePassiveClock(epoch), names)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/many, "B/node")
		runtime.KeepAlive(m)
	}
}

// Restart of 100,000 keys, each with its own grace, then one beat.
func BenchmarkRestartDeadlines(b *testing.B) {
	d, _ := NewDeadlines[int](DeadlinesConfig{Grace: time.Hour, Clock: testingclock.NewFakePassiveClock(epoch)})
	for i := range many {
		d.Beat(i)
		d.SetGrace(i, time.Hour+time.Duration(i*7919%many))
	}
	b.ResetTimer()
	for i := range b.N {
		d.Restart()
		d.Next()
		d.Beat(i % many)
	}
}

// The same for a monitor of 100,000 nodes, one of which renews.
func BenchmarkRestart(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	names := shuffled()
	m := monitorOfMany(b, clk, names)
	b.ResetTimer()
	for i := range b.N {
		m.Restart()
		m.Next()
		m.ObserveLease(names[i%many], epoch.Add(time.Duration(i)), "")
	}
}
