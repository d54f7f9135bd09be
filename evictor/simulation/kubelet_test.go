package simulation

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Turns come in the order of time, even if kubelets start in the first round. The first node has its turn last: it has just
// renewed.
func TestTurnsComeInOrder(t *testing.T) {
	f := fifo{period: 100}
	f.push(turn{at: 100, node: 0})
	for i := 1; i < 20; i++ {
		f.push(turn{at: int64(5 * i), node: int32(i)})
	}
	for i, at := range []int64{3, 50, 51, 99} { // before the first turn
		f.push(turn{at: at + f.period, node: int32(20 + i)})
	}
	var times []int64
	for range 1000 {
		turn := f.pop()
		times = append(times, turn.at)
		turn.at += f.period
		f.push(turn)
	}
	require.True(t, slices.IsSorted(times), times)
	require.Len(t, f.turns[f.head:], 24)
}
