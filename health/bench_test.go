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

// each reports the cost of one operation, of the n that an iteration makes.
func each(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/each")
}

// Forget of all 100,000 nodes before the first Pass, newest first.
func BenchmarkForgetMany(b *testing.B) {
	names := shuffled()
	for range b.N {
		b.StopTimer()
		m, _ := NewMonitor(DefaultConfig())
		for _, name := range names {
			m.ObserveNode(node(name, "uid", v1.ConditionTrue, 0))
		}
		b.StartTimer()
		for i := range names {
			m.Forget(names[many-1-i], "uid")
		}
	}
	each(b, many)
}

// 100,000 nodes without a Ready condition, created in any order.
func BenchmarkObserveManyThatNeverReported(b *testing.B) {
	nodes := make([]*v1.Node, many)
	r := rand.New(rand.NewSource(1))
	for i, name := range shuffled() {
		nodes[i] = node(name, "uid", "", -1)
		nodes[i].CreationTimestamp.Time = epoch.Add(-time.Duration(r.Intn(3600)) * time.Second)
	}
	b.ResetTimer()
	for range b.N {
		m, _ := NewMonitor(DefaultConfig())
		for _, n := range nodes {
			m.ObserveNode(n)
		}
	}
	each(b, many)
}

// The first report of a node that appeared one pass earlier, among 100,000 that renew in random order.
func BenchmarkFirstReport(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	names := shuffled()
	m := monitorOfMany(b, clk, names)
	clk.SetTime(epoch.Add(time.Second))
	b.ResetTimer()
	const fresh = 1000
	for range b.N {
		b.StopTimer()
		m.Pass()
		for i := range fresh {
			m.Forget(fmt.Sprint("new-", i), "")
		}
		for i, name := range names {
			clk.SetTime(clk.Now().Add(100 * time.Microsecond)) // all within ten seconds
			m.ObserveRenewal(name, clk.Now())
			if i == many/2 {
				for i := range fresh {
					m.seen(report{Node: fmt.Sprint("new-", i), Created: clk.Now()})
				}
			}
		}
		reports := make([]report, fresh)
		for i := range reports {
			reports[i] = report{Node: fmt.Sprint("new-", i), Ready: v1.ConditionTrue, Heartbeat: clk.Now()}
		}
		b.StartTimer()
		for _, r := range reports {
			m.seen(r)
		}
	}
	each(b, fresh)
}

// SetGrace of any of 100,000 keys whose beats are in order.
func BenchmarkSetGrace(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	d, _ := NewDeadlines[string](DeadlinesConfig{Grace: time.Hour, Clock: clk})
	names := shuffled()
	for i, name := range names {
		clk.SetTime(epoch.Add(time.Duration(i) * time.Microsecond))
		d.Beat(name)
	}
	rand.New(rand.NewSource(2)).Shuffle(many, func(i, j int) { names[i], names[j] = names[j], names[i] })
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		d.SetGrace(names[i%many], time.Duration(2+i/many%2)*time.Hour)
	}
}

// 30,000 keys come, each with its own grace; Next is called; they go.
func BenchmarkManyGracesComeAndGo(b *testing.B) {
	const graces = 30_000
	d, _ := NewDeadlines[int](DeadlinesConfig{Grace: time.Hour, Clock: testingclock.NewFakePassiveClock(epoch)})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for range b.N {
		for i := range graces {
			d.Beat(i)
			d.SetGrace(i, time.Hour+time.Duration(i*7919%graces))
			d.Next()
		}
		for i := range graces {
			d.Forget(i)
		}
	}
	b.StopTimer()
	each(b, graces)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/graces, "B-kept/key")
	runtime.KeepAlive(d)
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

// A beat of any of 100,000 keys that all have their own grace.
func BenchmarkBeatOwnGrace(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	d, _ := NewDeadlines[string](DeadlinesConfig{Grace: time.Hour, Clock: clk})
	names := shuffled()
	for i, name := range names {
		d.Beat(name)
		d.SetGrace(name, time.Hour+time.Duration(i)*time.Millisecond)
	}
	rand.New(rand.NewSource(2)).Shuffle(many, func(i, j int) { names[i], names[j] = names[j], names[i] })
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%64 == 0 {
			clk.SetTime(clk.Now().Add(time.Millisecond))
		}
		d.Beat(names[i%many])
	}
}

// The memory kept after 1,000,000 keys came and went, and the slowest Forget.
func BenchmarkMillionComeAndGo(b *testing.B) {
	const keys = 1_000_000
	for range b.N {
		var before, peak, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d, _ := NewDeadlines[int](DeadlinesConfig{Grace: time.Hour})
		for i := range keys {
			d.Beat(i)
		}
		runtime.GC()
		runtime.ReadMemStats(&peak)
		worst := time.Duration(0)
		for i := range keys {
			began := time.Now()
			d.Forget(i)
			worst = max(worst, time.Since(began))
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(100*float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(peak.HeapAlloc-before.HeapAlloc), "%kept")
		b.ReportMetric(float64(worst.Nanoseconds()), "worst-ns")
		runtime.KeepAlive(d)
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

// An observation that changes a status, in turn to one that a rule asks for and back.
func BenchmarkObserveChange(b *testing.B) {
	names := shuffled()
	d, well, ill := durationsOfMany(b, names)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i/many%2 == 0 {
			d.Observe(names[i%many], ill)
		} else {
			d.Observe(names[i%many], well)
		}
	}
}
