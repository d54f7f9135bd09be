package slab

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlabAgainstAMap(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		var s Slab[string]
		m := map[int32]string{}
		where := map[int32]*string{}
		for range 5000 {
			i := r.Int31n(1 + r.Int31n(2000))
			_, used := m[i]
			require.Equal(t, used, s.Has(i))
			if r.Intn(2+r.Intn(3)) == 0 {
				record := s.Use(i)
				require.Empty(t, *record, "zeroed, also when it was in use")
				require.True(t, !used || where[i] == record)
				m[i], where[i] = string(rune('a'+r.Intn(26))), record
				*record = m[i]
			} else {
				s.Free(i)
				delete(m, i)
				delete(where, i)
			}
			require.False(t, s.Has(i+10_000))
		}
		chunks := map[int32]bool{}
		for i, value := range m {
			require.Equal(t, value, *s.At(i))
			require.Same(t, where[i], s.At(i), "a record does not move")
			chunks[i/size] = true
		}
		for c, chunk := range s.chunks {
			require.Equal(t, chunks[int32(c)], chunk != nil, "a chunk is there when it is in use")
		}
	}
}

func TestABorderCostsNothing(t *testing.T) {
	var s Slab[[7]int]
	for i := range int32(3*size + 1) {
		s.Use(i)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Free(3 * size)
		s.Use(3 * size)
	}))
}

func TestWhatIsNotInUse(t *testing.T) {
	var s Slab[int]
	require.False(t, s.Has(0))
	require.False(t, s.Has(-1))
	s.Free(7) // does nothing
	require.Panics(t, func() { s.At(0) })
	*s.Use(40) = 1
	require.Panics(t, func() { *s.At(3) = 1 })
	require.Zero(t, *s.At(41))
	s.Free(41) // does nothing
	require.Equal(t, 1, *s.At(40))
}

func TestManyAgainstAMap(t *testing.T) {
	const most = 10_000
	for seed := range int64(3) {
		r := rand.New(rand.NewSource(seed))
		var s Slab[int]
		m := map[int32]int{}
		check := func() {
			count := 0
			s.Each(func(i int32, record *int) {
				count++
				if m[i] != *record {
					require.Fail(t, "lost or moved", "%d", i)
				}
			})
			require.Len(t, m, count)
			for i := range int32(most) {
				if _, used := m[i]; used != s.Has(i) {
					require.Fail(t, "in use?", "%d", i)
				}
			}
		}
		for range 2 {
			for i := range int32(most) {
				*s.Use(i) = int(i)
				m[i] = int(i)
			}
			check()
			for left, i := range r.Perm(most) {
				s.Free(int32(i))
				delete(m, int32(i))
				if again := int32(r.Intn(most)); left%5 == 0 {
					record := s.Use(again)
					require.Zero(t, *record)
					*record = left
					m[again] = left
				}
				if left%997 == 0 {
					check()
				}
			}
			check()
			for i := range m {
				s.Free(i)
			}
			clear(m)
			for _, chunk := range s.chunks {
				require.Nil(t, chunk)
			}
		}
	}
}
