package earliest

import (
	"math/rand"
	"slices"
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
		for _, at := range model {
			require.False(t, at.Before(first))
		}
		require.True(t, !ok || slices.ContainsFunc(all, func(o One) bool { return o.in == &s && o.at.Equal(first) }))
	}
	_, ok := other.First()
	require.False(t, ok)
}

func TestRoomIsGivenBack(t *testing.T) {
	var s Of
	all := make([]One, 100_000)
	for i := range all {
		s.Put(&all[i], time.Unix(int64(i), 0))
	}
	for i := range all {
		all[i].Leave()
	}
	require.LessOrEqual(t, cap(s.list), keptRoom)
}
