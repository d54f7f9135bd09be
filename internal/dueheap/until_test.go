package dueheap

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUntil(t *testing.T) {
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed))
		var h Heap
		for number := range r.Int31n(300) {
			h.Set(number, r.Int63n(100), 0)
		}
		for _, until := range []int64{-1, 0, 50, 99} {
			want, got := map[int32]int64{}, map[int32]int64{}
			h.Each(func(number int32, due int64, _ uint64) {
				if due <= until {
					want[number] = due
				}
			})
			visits := 0
			h.Until(until, func(number int32, due int64) {
				visits++
				got[number] = due
			})
			require.Equal(t, want, got)
			require.Equal(t, len(want), visits)
		}
	}
}
