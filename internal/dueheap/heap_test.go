package dueheap

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// order compares entries as the heap orders them.
func order(a, b entry) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.seq, b.seq), cmp.Compare(a.number, b.number))
}

func TestHeapAgainstAMap(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		var h Heap
		m := map[int32]entry{}
		seq := uint64(math.MaxUint32 - 500) // it passes 2^32 on the way
		for range 2000 {
			number := r.Int31n(60)
			if r.Intn(3) == 0 {
				h.Remove(number)
				delete(m, number)
			} else {
				seq++
				it := entry{due: r.Int63n(20), seq: seq, number: number}
				h.Set(number, it.due, it.seq)
				m[number] = it
			}
			var least entry
			found := false
			for _, it := range m {
				if !found || order(it, least) < 0 {
					least, found = it, true
				}
				if !h.Has(it.number) || h.Due(it.number) != it.due {
					require.Fail(t, "lost or moved", "%v", it)
				}
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
		h.Each(func(number int32, due int64, s uint64) {
			seen++
			require.Equal(t, m[number], entry{due: due, seq: s, number: number})
		})
		require.Equal(t, len(m), seen)
	}
}

// requireNothingKept checks that the heaps have neither leaves nor nodes left.
func requireNothingKept(t *testing.T, p *Places) {
	t.Helper()
	for _, block := range p.leaves {
		for _, l := range block {
			require.Zero(t, l)
		}
	}
	for _, x := range p.nodes {
		require.Nil(t, x)
	}
	require.Len(t, p.leafIDs.free, int(p.leafIDs.most))
	require.Len(t, p.nodeIDs.free, int(p.nodeIDs.most))
	require.LessOrEqual(t, len(p.spareNodes), mostSpares)
	p.items.Each(func(number int32, _ *item) { require.Fail(t, "kept", number) })
}

// Among equals, what is set first stays first, however many operations come between.
func TestOrderOfEqualsForEver(t *testing.T) {
	seqs := []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 3 << 31, 1 << 62, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 1, math.MaxUint64}
	for _, due := range []int64{math.MinInt64, 0, math.MaxInt64} {
		var h Heap
		for _, i := range rand.New(rand.NewSource(1)).Perm(len(seqs)) {
			h.Set(int32(i), due, seqs[i])
		}
		for i := range seqs {
			number, at, ok := h.Min()
			require.True(t, ok)
			require.Equal(t, due, at)
			require.Equal(t, int32(i), number)
			h.Remove(number)
		}
		require.Zero(t, h.Len())
	}
}

// The heap grows over many chunks and is emptied in order, again and again. Its numbers are far apart.
func TestWavesComeOutInOrder(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var h Heap
	for range 5 {
		var in []entry
		for _, number := range r.Perm(9000)[:1+r.Intn(3000)] {
			it := entry{r.Int63n(300), uint64(r.Intn(1 << 40)), int32(number)}
			h.Set(it.number, r.Int63(), 0)
			h.Set(it.number, it.due, it.seq)
			in = append(in, it)
		}
		slices.SortFunc(in, order)
		for _, it := range in {
			number, due, _ := h.Min()
			if number != it.number || due != it.due {
				require.Fail(t, "out of order")
			}
			h.Remove(number)
			h.Remove(number) // does nothing
		}
		require.Zero(t, h.Len())
		requireNothingKept(t, h.places)
	}
}

func TestABorderCostsNothing(t *testing.T) {
	var h Heap
	for number := range int32(3 * slots) {
		h.Set(number, 0, 0)
		require.Zero(t, testing.AllocsPerRun(3, func() {
			h.Remove(number)
			h.Set(number, 0, 0)
		}))
	}
}

func TestHeapsThatShareTheirPlaces(t *testing.T) {
	var places Places
	heaps := []Heap{Sharing(&places), Sharing(&places)}
	for number := range int32(200) {
		heaps[number%2].Set(number, int64(1000-number), 0)
	}
	for number := range int32(50) {
		heaps[number%2].Remove(number)
		heaps[1-number%2].Set(number, int64(number), 0)
	}
	for i := range heaps {
		last := int64(-1)
		for heaps[i].Len() > 0 {
			number, due, ok := heaps[i].Min()
			require.True(t, ok)
			require.Equal(t, due, heaps[i].Due(number))
			require.Greater(t, due, last)
			last = due
			require.True(t, places.Has(number))
			heaps[i].Remove(number)
			require.False(t, places.Has(number))
		}
	}
}
