package dueheap

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeapAgainstAMap(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		var h Heap
		m := map[int32]item{}
		seq := uint32(math.MaxUint32 - 500) // it overflows on the way
		for range 2000 {
			number := r.Int31n(60)
			if r.Intn(3) == 0 {
				h.Remove(number)
				delete(m, number)
			} else {
				seq++
				it := item{due: r.Int63n(20), seq: seq, number: number}
				h.Set(number, it.due, it.seq)
				m[number] = it
			}
			var least item
			found := false
			for _, it := range m {
				if !found || it.before(least) {
					least, found = it, true
				}
				require.True(t, h.Has(it.number))
				require.Equal(t, it.due, h.Due(it.number))
			}
			got, due, ok := h.Min()
			require.Equal(t, found, ok)
			if found {
				require.Equal(t, least.number, got)
				require.Equal(t, least.due, due)
			}
			require.Equal(t, len(m), h.Len())
		}
		seen := 0
		h.Each(func(number int32, due int64, s uint32) {
			seen++
			require.Equal(t, m[number], item{due, s, number})
		})
		require.Equal(t, len(m), seen)
	}
}
