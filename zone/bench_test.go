package zone

import (
	"fmt"
	"math/rand"
	"testing"
)

const benchNodes = 100_000

const benchUID = "0b5c6f6e-7a0a-4f3e-9d55-0f5d7a0e6d11"

// benchTracker has 100,000 ready members in 3 zones. It returns their keys in another order than that
// in which they were Set, as later events of an informer have no order either. No clock is involved.
func benchTracker(b *testing.B) (*Tracker[string, Key], []string, []Key) {
	b.Helper()
	t, err := NewTracker[string](DefaultPolicy())
	if err != nil {
		b.Fatal(err)
	}
	zones := []Key{{"r1", "a"}, {"r1", "b"}, {"r1", "c"}}
	names := make([]string, benchNodes)
	random := rand.New(rand.NewSource(1))
	for i, n := range random.Perm(benchNodes) {
		names[i] = fmt.Sprintf("node-%06d.example.internal", n)
		t.Set(names[i], zones[i%3], Member{Ready: true, Identity: benchUID})
	}
	t.Evaluate()
	random.Shuffle(benchNodes, func(i, j int) { names[i], names[j] = names[j], names[i] })
	of := make([]Key, benchNodes)
	for i, name := range names {
		of[i], _, _ = t.Get(name)
	}
	return t, names, of
}

// Every iteration flips another member and evaluates, shuffled string keys: in turn one goes down and
// one that went down 25,000 members ago comes back, so that no zone reaches a threshold.
func BenchmarkFlipEvaluateShuffled100kIn3Zones(b *testing.B) {
	const lag = benchNodes / 4
	t, names, of := benchTracker(b)
	flip := func(i int) {
		n := i / 2 % benchNodes
		if i%2 == 1 {
			n = (n + benchNodes - lag) % benchNodes
		}
		t.Set(names[n], of[n], Member{Ready: i%2 == 1, Identity: benchUID})
		if changes := t.Evaluate(); changes != nil {
			b.Fatal(changes)
		}
	}
	for i := 0; i < 2*lag; i += 2 {
		flip(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		flip(2*lag + i)
	}
}

// One member flips back and forth: what is left when nothing misses the cache.
func BenchmarkFlipEvaluateSameMember(b *testing.B) {
	t, names, of := benchTracker(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		t.Set(names[0], of[0], Member{Ready: i%2 == 1, Identity: benchUID})
		if changes := t.Evaluate(); changes != nil {
			b.Fatal(changes)
		}
	}
}

// Nothing changed since the last call.
func BenchmarkEvaluateIdle100k(b *testing.B) {
	t, _, _ := benchTracker(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if changes := t.Evaluate(); changes != nil {
			b.Fatal(changes)
		}
	}
}

// A member is told again what is known of it, shuffled string keys: what most node events come to.
func BenchmarkSetUnchangedShuffled100k(b *testing.B) {
	t, names, of := benchTracker(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		n := i % benchNodes
		t.Set(names[n], of[n], Member{Ready: true, Identity: benchUID})
	}
	if t.Evaluate() != nil {
		b.Fatal("changed")
	}
}
