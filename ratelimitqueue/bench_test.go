package ratelimitqueue

import (
	"fmt"
	"math/rand"
	"testing"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// Shuffled string keys, 100,000 items waiting.
func benchmarkRemoveAdd(b *testing.B, clk clock.PassiveClock) {
	names := make([]string, 100000)
	for i := range names {
		names[i] = fmt.Sprintf("node-%06d.example", i)
	}
	rand.New(rand.NewSource(1)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	q, _ := New[string, int](Config{Rate: 0.1, Clock: clk})
	for i, name := range names {
		q.Add(name, i)
	}
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

func BenchmarkRemoveAdd100000RealClock(b *testing.B) { benchmarkRemoveAdd(b, clock.RealClock{}) }
