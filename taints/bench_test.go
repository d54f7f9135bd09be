package taints

import (
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
