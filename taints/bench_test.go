package taints

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/tolerationcases"
)

// Two taints by four tolerations, the same ones again and again: everything is in the cache.
func BenchmarkTolerate2x4(b *testing.B) {
	for _, row := range []struct {
		name string
		of   func() ([]v1.Taint, []v1.Toleration)
		want time.Duration
	}{{"typical", tolerationcases.Typical, 300 * time.Second}, {"adverse", tolerationcases.Adverse, 30 * time.Second}} {
		b.Run(row.name, func(b *testing.B) {
			taints, tolerations := row.of()
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if stay := Tolerate(taints, tolerations, false); stay.For != row.want {
					b.Fatal(stay)
				}
			}
		})
	}
}

// The plain form: the same without keyMayMatch.
func BenchmarkTolerate2x4Plain(b *testing.B) {
	for _, row := range []struct {
		name string
		of   func() ([]v1.Taint, []v1.Toleration)
		want time.Duration
	}{{"typical", tolerationcases.Typical, 300 * time.Second}, {"adverse", tolerationcases.Adverse, 30 * time.Second}} {
		b.Run(row.name, func(b *testing.B) {
			taints, tolerations := row.of()
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if stay := plainly(taints, tolerations); stay.For != row.want {
					b.Fatal(stay)
				}
			}
		})
	}
}

// plainly is Tolerate.
func plainly(taints []v1.Taint, tolerations []v1.Toleration) Deadline {
	stay := Deadline{Forever: true, Toleration: -1}
	for i := range taints {
		taint, used := &taints[i], -1
		if taint.Effect != v1.TaintEffectNoExecute {
			continue
		}
		for j := 0; used < 0 && j < len(tolerations); j++ {
			t := &tolerations[j]
			if (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect) && matches(t, taint, false) {
				used = j
			}
		}
		if used < 0 {
			return Deadline{Taint: taint, Toleration: -1}
		}
		if lasts, forever := lastsFor(&tolerations[used]); !forever && (stay.Forever || lasts < stay.For) {
			stay = Deadline{For: lasts, Taint: taint, Toleration: used}
		}
	}
	return stay
}

// The typical case, but every pod and node has its own slices and strings, as decoding makes them, and they are visited in
// shuffled order: 50,000 pods and 5,000 nodes, so hardly anything is cached.
func BenchmarkTolerate2x4Cold(b *testing.B) {
	type pair struct {
		taints      []v1.Taint
		tolerations []v1.Toleration
	}
	nodes := make([][]v1.Taint, 5_000)
	for i := range nodes {
		nodes[i], _ = tolerationcases.Typical()
	}
	pairs := make([]pair, 50_000)
	for i := range pairs {
		_, tolerations := tolerationcases.Typical()
		pairs[i] = pair{nodes[i%len(nodes)], tolerations}
	}
	rand.New(rand.NewSource(1)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		p := pairs[i%len(pairs)]
		if stay := Tolerate(p.taints, p.tolerations, false); stay.For != 300*time.Second {
			b.Fatal(stay)
		}
	}
}

// The scheduler's question, with the typical slices.
func BenchmarkUntolerated2x4(b *testing.B) {
	taints, tolerations := tolerationcases.Typical()
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if taint, ok := Untolerated(taints, tolerations, false); ok {
			b.Fatal(taint)
		}
	}
}

// Nothing to change, as for nearly every node event.
func BenchmarkDiffWithoutChange(b *testing.B) {
	have := ForConditions([]v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}, true)
	want := append([]v1.Taint(nil), have...)
	have = append(have, v1.Taint{Key: "example.com/dedicated", Effect: v1.TaintEffectNoSchedule})
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if c := Diff(have, want, OwnNoSchedule); !c.Empty() {
			b.Fatal(fmt.Sprint(c))
		}
	}
}

// When must a pod leave? The typical case with a start for each taint, and only the taints of others.
func BenchmarkDeadlineOf2x4(b *testing.B) {
	taints, tolerations := tolerationcases.Typical()
	begun := make([]Begun, len(taints))
	for i := range taints {
		begun[i] = Begun{Taint: taints[i], Start: now}
	}
	for name, counts := range map[string]func(*v1.Taint) bool{"all": nil, "foreign": func(t *v1.Taint) bool { return !OwnNoExecute(t) }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if d := DeadlineOf(begun, now, tolerations, counts, false); d.At.IsZero() != d.Forever {
					b.Fatal(d)
				}
			}
		})
	}
}
