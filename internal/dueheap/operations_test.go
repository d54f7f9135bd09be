package dueheap

import (
	"flag"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var operations = flag.Int("operations", 100_000, "how many random operations are compared with the model")

// sortedHeap does what a Heap must do, with a sorted slice.
type sortedHeap struct {
	heap Heap
	all  []entry
}

func (s *sortedHeap) set(t *testing.T, one, was entry, moved bool) {
	if moved {
		s.drop(t, was)
	}
	at, there := slices.BinarySearchFunc(s.all, one, order)
	require.False(t, there)
	s.all = slices.Insert(s.all, at, one)
	s.heap.Set(one.number, one.due, one.seq)
}

func (s *sortedHeap) drop(t *testing.T, one entry) {
	at, there := slices.BinarySearchFunc(s.all, one, order)
	require.True(t, there)
	s.all = slices.Delete(s.all, at, at+1)
}

func (s *sortedHeap) check(t *testing.T) {
	number, due, ok := s.heap.Min()
	if len(s.all) != s.heap.Len() || ok != (len(s.all) > 0) || ok && (number != s.all[0].number || due != s.all[0].due) {
		require.Fail(t, "not the least", "%d of %d: %d due %d %v", s.heap.Len(), len(s.all), number, due, ok)
	}
}

func (s *sortedHeap) checkVisits(t *testing.T) {
	var all []entry
	s.heap.Each(func(number int32, due int64, seq uint64) {
		require.Equal(t, due, s.heap.Due(number))
		require.Equal(t, seq, s.heap.Seq(number))
		all = append(all, entry{due, seq, number})
	})
	slices.SortFunc(all, order)
	require.True(t, slices.Equal(s.all, all))
	if len(all) == 0 {
		return
	}
	until, visited := all[len(all)/3].due, 0
	s.heap.Until(until, func(_ int32, due int64) {
		visited++
		require.LessOrEqual(t, due, until)
	})
	end, _ := slices.BinarySearchFunc(all, entry{due: until, seq: 1<<64 - 1, number: 1<<31 - 1}, order)
	require.Equal(t, end, visited)
}

// Two heaps share their Places and grow and shrink in turn, from nothing to trees of three levels: by random numbers,
// by what is due first, and with due times that are spread out, nearly equal, rising or falling.
func TestOperationsAgainstASortedSlice(t *testing.T) {
	const numbers = 12_000
	r := rand.New(rand.NewSource(1))
	var places Places
	heaps := [2]sortedHeap{{heap: Sharing(&places)}, {heap: Sharing(&places)}}
	in := make([]*sortedHeap, numbers) // by number
	entries := make([]entry, numbers)
	var seq uint64
	for played := 0; played < *operations; {
		spread := []int64{1, 3, 1000, 1 << 40}[r.Intn(4)]
		rising := []int64{0, 0, 1, -1}[r.Intn(4)] * (spread/1000 + 1)
		grows, first := r.Intn(2) == 0, r.Intn(3) == 0
		among := int32(1 + r.Intn(numbers))
		for range r.Intn(2 * numbers) {
			played++
			number := r.Int31n(among)
			s := in[number]
			if r.Intn(10) < 8 == grows || s == nil && !first {
				was := s
				if s == nil {
					s = &heaps[r.Intn(2)]
				}
				seq++
				one := entry{r.Int63n(spread) + rising*int64(seq), seq, number}
				if r.Intn(8) == 0 {
					one.due, one.seq = entries[r.Intn(numbers)].due, uint64(r.Intn(3)) // often equal, so that only the number orders them
				}
				s.set(t, one, entries[number], was != nil)
				in[number], entries[number] = s, one
			} else {
				if first && (s == nil || r.Intn(2) == 0) {
					s = &heaps[r.Intn(2)]
					if len(s.all) == 0 {
						continue
					}
					number = s.all[0].number
				}
				s.drop(t, entries[number])
				s.heap.Remove(number)
				in[number] = nil
			}
			heaps[0].check(t)
			heaps[1].check(t)
		}
		for i := range heaps {
			all, _ := sound(t, &heaps[i].heap)
			require.True(t, slices.Equal(heaps[i].all, all))
			heaps[i].checkVisits(t)
		}
	}
}
