package zone

import (
	"fmt"
	"math/rand"
	"testing"
)

const benchNodes = 100_000

const benchUID = "0b5c6f6e-7a0a-4f3e-9d55-0f5d7a0e6d11"

// benchTracker has 100,000 ready members in 3 zones. It returns their keys shuffled, because an informer's later events
// do not come in the order of the first Sets either.
func benchTracker(b *testing.B, policy Policy) (*Tracker[string], []string, []Key) {
	b.Helper()
	t, err := New[string](policy)
	if err != nil {
		b.Fatal(err)
	}
	zones := []Key{{"r1", "a"}, {"r1", "b"}, {"r1", "c"}}
	names, of := make([]string, benchNodes), make([]Key, benchNodes)
	random := rand.New(rand.NewSource(1))
	for i, n := range random.Perm(benchNodes) {
		names[i] = fmt.Sprintf("node-%06d.example.internal", n)
		of[i] = zones[i%3]
		t.Set(names[i], of[i], Member{Ready: true, Identity: benchUID})
	}
	t.Evaluate(epoch)
	random.Shuffle(benchNodes, func(i, j int) {
		names[i], names[j] = names[j], names[i]
		of[i], of[j] = of[j], of[i]
	})
	return t, names, of
}

// Every iteration flips another member and evaluates, with shuffled string keys. In turn, one member goes down and one
// that went down 25,000 members earlier comes back, so no zone reaches a threshold.
func BenchmarkFlipEvaluateShuffled100kIn3Zones(b *testing.B) {
	const lag = benchNodes / 4
	t, names, of := benchTracker(b, DefaultPolicy())
	flip := func(i int) {
		n := i / 2 % benchNodes
		if i%2 == 1 {
			n = (n + benchNodes - lag) % benchNodes
		}
		t.Set(names[n], of[n], Member{Ready: i%2 == 1, Identity: benchUID})
		if changes := t.Evaluate(epoch); changes != nil {
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

// One member flips back and forth: the cost without cache misses.
func BenchmarkFlipEvaluateSameMember(b *testing.B) { benchSameMember(b, DefaultPolicy()) }

// The plain form: the policy is asked about every zone, as one of your own is.
func BenchmarkFlipEvaluateSameMemberPlain(b *testing.B) {
	benchSameMember(b, PolicyFunc(DefaultPolicy().Decide))
}

func benchSameMember(b *testing.B, policy Policy) {
	t, names, of := benchTracker(b, policy)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		t.Set(names[0], of[0], Member{Ready: i%2 == 1, Identity: benchUID})
		if changes := t.Evaluate(epoch); changes != nil {
			b.Fatal(changes)
		}
	}
}

// Nothing changed since the last call.
func BenchmarkEvaluateIdle100k(b *testing.B) {
	t, _, _ := benchTracker(b, DefaultPolicy())
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if changes := t.Evaluate(epoch); changes != nil {
			b.Fatal(changes)
		}
	}
}

// Set repeats what is already known, with shuffled string keys. Most node events are like this.
func BenchmarkSetUnchangedShuffled100k(b *testing.B) {
	t, names, of := benchTracker(b, DefaultPolicy())
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		n := i % benchNodes
		t.Set(names[n], of[n], Member{Ready: true, Identity: benchUID})
	}
	if t.Evaluate(epoch) != nil {
		b.Fatal("changed")
	}
}
