package dueheap

import (
	"math/rand"
	"testing"
)

const benchmarked = 100_000

func benchmarkHeap(spread int64) *Heap {
	r := rand.New(rand.NewSource(1))
	var h Heap
	for i := range benchmarked {
		h.Set(int32(i), r.Int63n(spread), 0)
	}
	return &h
}

func benchmarkMove(b *testing.B, spread int64) {
	h := benchmarkHeap(spread)
	r := rand.New(rand.NewSource(2))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		number := int32(i * 7919 % benchmarked)
		h.Remove(number)
		h.Set(number, r.Int63n(spread), 0)
	}
}

func BenchmarkRemoveSet100000(b *testing.B) { benchmarkMove(b, 1<<40) }

func BenchmarkRemoveSetEqual100000(b *testing.B) { benchmarkMove(b, 1) }

func BenchmarkMinRemoveSet100000(b *testing.B) {
	h := benchmarkHeap(1 << 40)
	r := rand.New(rand.NewSource(2))
	b.ResetTimer()
	for range b.N {
		number, due, _ := h.Min()
		h.Remove(number)
		h.Set(number, due+r.Int63n(1<<40), 0)
	}
}
