package taints

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func seconds(n int64) *int64 { return &n }

// decoded gives every taint and toleration strings of its own, as decoding makes them: equal constants
// share their bytes, and comparing those is cheaper than it ever is in earnest.
func decoded(taints []v1.Taint, tolerations []v1.Toleration) ([]v1.Taint, []v1.Toleration) {
	own := func(s *string) { *s = string(append([]byte(nil), *s...)) }
	for i := range taints {
		own(&taints[i].Key)
		own(&taints[i].Value)
		own((*string)(&taints[i].Effect))
	}
	for i := range tolerations {
		own(&tolerations[i].Key)
		own(&tolerations[i].Value)
		own((*string)(&tolerations[i].Effect))
		own((*string)(&tolerations[i].Operator))
	}
	return taints, tolerations
}

// Typical: a failed node of a dedicated pool; the pod carries two tolerations of its own and the two
// that admission adds.
func typical() ([]v1.Taint, []v1.Toleration) {
	return decoded([]v1.Taint{
		{Key: "example.com/dedicated", Value: "batch", Effect: v1.TaintEffectNoExecute},
		{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute},
	}, []v1.Toleration{
		{Key: "example.com/dedicated", Operator: v1.TolerationOpEqual, Value: "batch"},
		{Key: v1.TaintNodeMemoryPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule},
		{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(300)},
		{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(300)},
	})
}

// Adverse: what matches comes last, and what does not has keys of the same length, or the same key and
// another effect or value.
func adverse() ([]v1.Taint, []v1.Toleration) {
	return decoded([]v1.Taint{
		{Key: "example.com/dedicated-b", Value: "batch", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated-a", Value: "batch", Effect: v1.TaintEffectNoExecute},
	}, []v1.Toleration{
		{Key: "example.com/dedicated-a", Operator: v1.TolerationOpEqual, Value: "other", Effect: v1.TaintEffectNoExecute},
		{Key: "example.com/dedicated-b", Operator: v1.TolerationOpEqual, Value: "batch", Effect: v1.TaintEffectNoSchedule},
		{Key: "example.com/dedicated-a", Operator: v1.TolerationOpEqual, Value: "batch", TolerationSeconds: seconds(60)},
		{Key: "example.com/dedicated-b", Operator: v1.TolerationOpEqual, Value: "batch", Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(30)},
	})
}

// Two taints by four tolerations, the same ones again and again: everything is in the cache.
func BenchmarkTolerate2x4(b *testing.B) {
	for _, row := range []struct {
		name string
		of   func() ([]v1.Taint, []v1.Toleration)
		want time.Duration
	}{{"typical", typical, 300 * time.Second}, {"adverse", adverse, 30 * time.Second}} {
		b.Run(row.name, func(b *testing.B) {
			taints, tolerations := row.of()
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if stay := Tolerate(NoExecute(taints), tolerations); stay.For != row.want {
					b.Fatal(stay)
				}
			}
		})
	}
}

// The typical case, but every pod and node has slices and strings of its own, as decoding makes them,
// and they are visited in shuffled order: 50,000 pods and 5,000 nodes, so hardly anything is cached.
func BenchmarkTolerate2x4Cold(b *testing.B) {
	type pair struct {
		taints      []v1.Taint
		tolerations []v1.Toleration
	}
	nodes := make([][]v1.Taint, 5_000)
	for i := range nodes {
		nodes[i], _ = typical()
	}
	pairs := make([]pair, 50_000)
	for i := range pairs {
		_, tolerations := typical()
		pairs[i] = pair{nodes[i%len(nodes)], tolerations}
	}
	rand.New(rand.NewSource(1)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		p := pairs[i%len(pairs)]
		if stay := Tolerate(NoExecute(p.taints), p.tolerations); stay.For != 300*time.Second {
			b.Fatal(stay)
		}
	}
}

// The scheduler's question, with the typical slices.
func BenchmarkUntolerated2x4(b *testing.B) {
	taints, tolerations := typical()
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if taint, ok := Untolerated(taints, tolerations, Scheduling); ok {
			b.Fatal(taint)
		}
	}
}

// Nothing to change: what nearly every node event comes to.
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
