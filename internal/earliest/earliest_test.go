package earliest

import (
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFirst compares with a linear search, while instants come, move and leave. Many of them are equal.
func TestFirst(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var s, other Of
	all := make([]One, 300)
	model := map[int]time.Time{}
	for range 20_000 {
		i := r.Intn(len(all))
		if r.Intn(2) == 0 {
			model[i] = time.Unix(r.Int63n(50), 0)
			s.Put(&all[i], model[i])
		} else {
			delete(model, i)
			all[i].Leave()
		}
		if r.Intn(5_000) == 0 {
			clear(model)
			for i := range all {
				all[i].Leave()
			}
		}
		require.Equal(t, len(model), s.Len())
		first, ok := s.First()
		require.Equal(t, len(model) > 0, ok)
		there := !ok
		for _, at := range model {
			require.False(t, at.Before(first))
			there = there || at.Equal(first)
		}
		require.True(t, there)
	}
	_, ok := other.First()
	require.False(t, ok)
}
