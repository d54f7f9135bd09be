package slab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachVisitsWhatIsInUse(t *testing.T) {
	var s Slab[int]
	for i := range int32(100) {
		*s.Use(i) = int(i)
	}
	for i := range int32(100) {
		if i%3 != 0 || i/size == 1 {
			s.Free(i)
		}
	}
	var visited []int32
	s.Each(func(i int32, record *int) {
		require.Equal(t, int(i), *record)
		visited = append(visited, i)
		s.Free(i)
	})
	var want []int32
	for i := int32(0); i < 100; i += 3 {
		if i/size != 1 {
			want = append(want, i)
		}
	}
	require.Equal(t, want, visited)
	s.Each(func(int32, *int) { t.Error("all are freed") })
}
