package keyindex

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// segments counts the segments and checks that each is in the directory where its hashes begin.
func segments(t *testing.T, x *Index[int]) (count, live int) {
	require.Len(t, x.directory, 1<<x.depth)
	sound := true
	for i := 0; i < len(x.directory); {
		s := x.directory[i]
		each := 1 << (x.depth - s.depth)
		sound = sound && i%each == 0
		for _, same := range x.directory[i : i+each] {
			sound = sound && s == same
		}
		for _, one := range s.slots {
			sound = sound && (one.number == 0 || int(one.hash>>(32-x.depth))/each == i/each)
		}
		count, live, i = count+1, live+int(s.live), i+each
	}
	require.True(t, sound)
	if x.gone.number != 0 {
		live--
	}
	require.Equal(t, x.live, live)
	return count, live
}

func TestSegmentsSplitAndMerge(t *testing.T) {
	var x Index[int]
	const most = 120_000
	for n := range most {
		x.Insert(n)
		if n%1013 == 0 {
			count, live := segments(t, &x)
			require.LessOrEqual(t, count, 1+live/(slots/4), "at least a quarter full, all in all")
		}
	}
	for left, n := range rand.New(rand.NewSource(1)).Perm(most) {
		x.Delete(n)
		if left%1013 == 0 {
			count, live := segments(t, &x)
			require.LessOrEqual(t, count, 2+live/(slots/8))
		}
	}
	require.Len(t, x.directory, 1)
	require.Equal(t, newSegment(slots), x.directory[0])
}
