package ratelimitqueue

import (
	container "container/heap"
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// shuffled are string keys in no order, as an informer delivers them.
func shuffled(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%06d.example", i)
	}
	rand.New(rand.NewSource(1)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

func filled(b *testing.B, config Config, names []string) *Queue[string, int] {
	q, err := New[string, int](config)
	if err != nil {
		b.Fatal(err)
	}
	for i, name := range names {
		q.Add(name, i)
	}
	return q
}

// Shuffled string keys, 100,000 items waiting.
func benchmarkRemoveAdd(b *testing.B, clk clock.PassiveClock) {
	names := shuffled(100000)
	q := filled(b, Config{Rate: 0.1, Clock: clk}, names)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		name := names[i%len(names)]
		q.Remove(name)
		q.Add(name, i)
	}
}

func BenchmarkRemoveAdd100000FakeClock(b *testing.B) {
	benchmarkRemoveAdd(b, testingclock.NewFakePassiveClock(epoch))
}

// What one writes by hand: container/heap and a map, behind a mutex. It has no rate, no retry and no pause.
type plain struct {
	mu    sync.Mutex
	items []*plainItem
	byKey map[string]*plainItem
}

type plainItem struct {
	key   string
	value int
	due   time.Time
	index int
}

func (p *plain) Len() int           { return len(p.items) }
func (p *plain) Less(i, j int) bool { return p.items[i].due.Before(p.items[j].due) }
func (p *plain) Swap(i, j int) {
	p.items[i], p.items[j] = p.items[j], p.items[i]
	p.items[i].index, p.items[j].index = i, j
}

func (p *plain) Push(item any) {
	added := item.(*plainItem)
	added.index = len(p.items)
	p.items = append(p.items, added)
}

func (p *plain) Pop() any {
	last := p.items[len(p.items)-1]
	p.items[len(p.items)-1] = nil
	p.items = p.items[:len(p.items)-1]
	return last
}

func (p *plain) add(key string, value int, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	item := &plainItem{key: key, value: value, due: due}
	p.byKey[key] = item
	container.Push(p, item)
}

func (p *plain) remove(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if item, ok := p.byKey[key]; ok {
		container.Remove(p, item.index)
		delete(p.byKey, key)
	}
}

func BenchmarkRemoveAddPlain100000FakeClock(b *testing.B) {
	names, clk := shuffled(100000), testingclock.NewFakePassiveClock(epoch)
	p := plain{byKey: make(map[string]*plainItem)}
	for i, name := range names {
		p.add(name, i, clk.Now())
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		name := names[i%len(names)]
		p.remove(name)
		p.add(name, i, clk.Now())
	}
}

func BenchmarkRemoveAdd100000RealClock(b *testing.B) { benchmarkRemoveAdd(b, clock.RealClock{}) }

// The same in a group, whose items are in ten domains.
func BenchmarkGroupRemoveAdd100000FakeClock(b *testing.B) {
	names := shuffled(100000)
	g, _ := NewGroup[int, string, int](GroupConfig[int, string]{Config: Config{Rate: 0.1, Clock: testingclock.NewFakePassiveClock(epoch)}})
	for i, name := range names {
		g.Add(i%10, name, i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		name := names[i%len(names)]
		g.Remove(name)
		g.Add(i%10, name, i)
	}
}

// One Take after 10,000 domains have emptied.
func BenchmarkGroupForgets10000(b *testing.B) {
	clk := testingclock.NewFakePassiveClock(epoch)
	for range b.N {
		b.StopTimer()
		g, _ := NewGroup[int, int, int](GroupConfig[int, int]{Config: Config{Rate: rate.Inf, Clock: clk}})
		for i := range 10_000 {
			g.Add(i, i, i)
		}
		g.Clear()
		clk.SetTime(clk.Now().Add(time.Second))
		b.StartTimer()
		g.Take()
	}
}

// What is left of 1,000,000 items of 64 bytes that came and went.
func BenchmarkAfterAPeakOf1000000(b *testing.B) {
	names := shuffled(1000000)
	for range b.N {
		q, _ := New[string, [64]byte](Config{Rate: 1})
		empty := heap()
		for _, name := range names {
			q.Add(name, [64]byte{})
		}
		peak := heap() - empty
		var longest time.Duration
		for _, name := range names[1:] {
			began := time.Now()
			q.Remove(name)
			longest = max(longest, time.Since(began))
		}
		b.ReportMetric(float64(heap()-empty)/float64(peak)*100, "%kept")
		b.ReportMetric(float64(peak)/float64(len(names)), "B/item")
		b.ReportMetric(float64(longest.Microseconds()), "us-longest-Remove")
		runtime.KeepAlive(q)
	}
}

// One of 1,000 is handed out, forgotten and added again.
func BenchmarkTakeForgetAdd1000(b *testing.B) {
	q := filled(b, Config{Rate: rate.Inf, Clock: testingclock.NewFakePassiveClock(epoch)}, shuffled(1000))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		item, _ := q.Take()
		item.Forget()
		q.Add(item.Key, i)
	}
}

// The same if a preference is asked for, among 1,000 due keys.
func BenchmarkTakePrefer1000(b *testing.B) {
	g, _ := NewGroup[int, string, int](GroupConfig[int, string]{
		Config: Config{Rate: rate.Inf, Clock: testingclock.NewFakePassiveClock(epoch)},
		Prefer: func(_ int, due []string) string { return due[len(due)-1] },
	})
	for i, name := range shuffled(1000) {
		g.Add(1, name, i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		_, item, _ := g.Take()
		item.Forget()
		g.Add(1, item.Key, i)
	}
}
