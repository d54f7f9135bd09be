package health

import (
	"fmt"
	"math/rand"
	"runtime"
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
		m.ObserveRenewal(names[i%many], epoch.Add(time.Duration(i)))
	}
}

// 100,000 nodes, shuffled names.
func BenchmarkRenewalFakeClock(b *testing.B) {
	benchmarkRenewal(b, testingclock.NewFakePassiveClock(epoch))
}

func BenchmarkRenewalRealClock(b *testing.B) { benchmarkRenewal(b, clock.RealClock{}) }

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
			m.ObserveRenewal(names[(i%2)*many/2+k], clk.Now())
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

// Reset of 100,000 keys, each with its own grace, then one beat.
func BenchmarkReset(b *testing.B) {
	d, _ := NewDeadlines[int](DeadlinesConfig{Grace: time.Hour, Clock: testingclock.NewFakePassiveClock(epoch)})
	for i := range many {
		d.Beat(i)
		d.SetGrace(i, time.Hour+time.Duration(i*7919%many))
	}
	b.ResetTimer()
	for i := range b.N {
		d.Reset()
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
		m.ObserveRenewal(names[i%many], epoch.Add(time.Duration(i)))
	}
}

// durationsOfMany watches 100,000 nodes with a kubelet's four conditions; every hundredth node is not Ready.
func durationsOfMany(b *testing.B, names []string) (d *Durations[string], well, ill []v1.NodeCondition) {
	d, err := NewDurations[string](DurationsConfig{Clock: testingclock.NewFakePassiveClock(epoch), Rules: []Rule{
		{v1.NodeReady, v1.ConditionFalse, 5 * time.Minute}, {v1.NodeReady, v1.ConditionUnknown, 10 * time.Minute},
		{v1.NodeDiskPressure, v1.ConditionTrue, time.Hour}, {"KernelDeadlock", v1.ConditionTrue, time.Minute},
	}})
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range kubeletConditions {
		well, ill = append(well, condition(kind, v1.ConditionFalse, 0)), append(ill, condition(kind, v1.ConditionFalse, 0))
	}
	well[0].Status = v1.ConditionTrue
	for i, name := range names {
		if i%100 == 0 {
			d.Observe(name, ill)
		} else {
			d.Observe(name, well)
		}
	}
	rand.New(rand.NewSource(2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return d, well, ill
}

// An observation that changes nothing, of a random one of 100,000 nodes.
func BenchmarkObserveConditions(b *testing.B) {
	names := shuffled()
	d, well, _ := durationsOfMany(b, names)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		d.Observe(names[i%many], well)
	}
}
