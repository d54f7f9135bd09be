package taints_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// Many taints and tolerations have the same deadline as each taint compared alone.
func TestManyTaintsAndTolerations(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	pick := func(of ...string) string { return of[random.Intn(len(of))] }
	for range 200 {
		numeric := random.Intn(2) == 0
		keys := 1 + random.Intn(80)
		var begun []taints.Begun
		for range 64 + random.Intn(20) {
			taint := v1.Taint{Key: fmt.Sprint("k", random.Intn(keys)), Value: pick("", "1", "2", "x"), Effect: v1.TaintEffect(pick("NoExecute", "NoExecute", "NoSchedule"))}
			begun = append(begun, taints.Begun{Taint: taint, Start: time.Unix(int64(random.Intn(100)), 0)})
		}
		var tolerations []v1.Toleration
		for range 64 + random.Intn(200) {
			toleration := v1.Toleration{Key: fmt.Sprint("k", random.Intn(keys)), Value: pick("", "1", "2", "x"), Operator: v1.TolerationOperator(pick("", "Equal", "Exists", "Lt", "Gt", "odd")), Effect: v1.TaintEffect(pick("", "NoExecute", "NoSchedule"))}
			if random.Intn(200) == 0 {
				toleration.Key = ""
			}
			if random.Intn(3) > 0 {
				seconds := int64(random.Intn(100))
				toleration.TolerationSeconds = &seconds
			}
			tolerations = append(tolerations, toleration)
		}
		want := taints.Deadline{Forever: true, Toleration: -1}
		for i := range begun {
			if one := taints.DeadlineOf(begun[i:i+1], time.Time{}, tolerations, nil, numeric); !one.Forever && (want.Forever || one.At.Before(want.At)) {
				want = one
			}
		}
		require.Equal(t, want, taints.DeadlineOf(begun, time.Time{}, tolerations, nil, numeric))
	}
}

// A hostile object: at once, and plainly, taint by taint.
func BenchmarkManyTaintsAndTolerations(b *testing.B) {
	const many = 10_000
	begun, tolerations := make([]taints.Begun, many), make([]v1.Toleration, many)
	for i := range many {
		begun[i] = taints.Begun{Taint: v1.Taint{Key: fmt.Sprint("key-", i), Effect: v1.TaintEffectNoExecute}}
		tolerations[i] = v1.Toleration{Key: fmt.Sprint("key-", many-i), Operator: v1.TolerationOpExists}
	}
	b.Run("ours", func(b *testing.B) {
		for range b.N {
			taints.DeadlineOf(begun, time.Time{}, tolerations, nil, false)
		}
	})
	b.Run("plain", func(b *testing.B) {
		for range b.N {
			for i := range begun {
				taints.DeadlineOf(begun[i:i+1], time.Time{}, tolerations, nil, false)
			}
		}
	})
}
