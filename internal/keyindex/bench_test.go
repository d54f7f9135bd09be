package keyindex

import (
	"fmt"
	"testing"
)

func benchmarkKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("namespace/pod-", i)
	}
	return keys
}

func full(keys []string) *Index[string] {
	var x Index[string]
	for _, key := range keys {
		x.Insert(key)
	}
	return &x
}

// scatter visits all of 0 to n-1, with large steps.
func scatter(i, n int) int { return int(uint64(i) * 7919 % uint64(n)) }

func BenchmarkFind100000(b *testing.B) {
	keys := benchmarkKeys(100_000)
	x := full(keys)
	b.ResetTimer()
	for i := range b.N {
		x.Find(keys[scatter(i, len(keys))])
	}
}

func BenchmarkDeleteInsert100000(b *testing.B) {
	keys := benchmarkKeys(100_000)
	x := full(keys)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		key := keys[scatter(i, len(keys))]
		x.Delete(key)
		x.Insert(key)
	}
}

func BenchmarkFill1000000(b *testing.B) {
	keys := benchmarkKeys(1_000_000)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		full(keys)
	}
}
