package taints

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// One toleration and one taint of any text.
func FuzzTolerates(f *testing.F) {
	f.Add("k", "Exists", "", "NoExecute", "k", "v", "NoExecute", false)
	f.Add("", "Equal", "v", "", "k", "v", "NoSchedule", false)
	f.Add("k", "Lt", "-9223372036854775808", "", "k", "9223372036854775807", "NoExecute", true)
	f.Add("k", "Gt", "007", "", "k", "+9", "NoExecute", true)
	f.Fuzz(func(t *testing.T, key, operator, value, effect, taintKey, taintValue, taintEffect string, numeric bool) {
		requireReference(t,
			[]v1.Taint{{Key: taintKey, Value: taintValue, Effect: v1.TaintEffect(taintEffect)}},
			[]v1.Toleration{{Key: key, Operator: v1.TolerationOperator(operator), Value: value, Effect: v1.TaintEffect(effect)}}, numeric)
	})
}

// Several tolerations and taints from an alphabet so small that they match often.
func FuzzTolerate(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 0, 1, 1, 0, 0, 2, 0, 0, 0, 0, 3, 1, 0, 0, 0, 4}, false)
	f.Add([]byte{1, 0, 3, 0, 0, 2, 0, 4, 1, 0, 5, 0, 5, 2, 0, 6}, true)
	f.Fuzz(func(t *testing.T, program []byte, numeric bool) {
		taints, tolerations := decode(program)
		requireReference(t, taints, tolerations, numeric)
	})
}

// Seconds of any size do not overflow and keep their order.
func FuzzSeconds(f *testing.F) {
	f.Add(int64(300), int64(0))
	f.Add(int64(math.MaxInt64), int64(9_223_372_036))
	f.Add(int64(math.MinInt64), int64(-1))
	f.Fuzz(func(t *testing.T, a, b int64) {
		x, forever := lastsFor(&v1.Toleration{TolerationSeconds: &a})
		require.False(t, forever)
		y, _ := lastsFor(&v1.Toleration{TolerationSeconds: &b})
		require.GreaterOrEqual(t, int64(x), int64(0))
		require.Equal(t, a <= 0, x == 0)
		if a <= b {
			require.LessOrEqual(t, x, y)
		}
	})
}
