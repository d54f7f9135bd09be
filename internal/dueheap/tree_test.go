package dueheap

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// sound checks the tree. It returns the entries in order, and the number of leaves.
func sound(t *testing.T, h *Heap) (all []entry, leaves int) {
	t.Helper()
	var fault string
	note := func(ok bool, what string, x any) {
		if !ok && fault == "" {
			fault = fmt.Sprint(what, " ", x)
		}
	}
	var ends []int32
	var visit func(id int32, level int)
	visit = func(id int32, level int) {
		if level == 0 {
			leaves++
			ends = append(ends, id)
			l := h.places.leaf(id)
			note(l.used != 0 && len(l.numbers) == slots, "empty", id)
			if low, high := (entry{l.from + 1, 0, 0}), (entry{l.until - 1, math.MaxUint64, math.MaxInt32}); low.due <= high.due {
				note(h.find(&low) == id && h.find(&high) == id, "what it holds", *l)
			}
			for at, number := range l.numbers {
				if l.used>>at&1 != 0 {
					note(h.places.items.At(number).place == placeOf(id, at), "place of a number", number)
					all = append(all, h.places.entry(number))
				}
			}
			return
		}
		x := h.places.nodes[id]
		note(x.count > 0 && x.count <= fanout, "count", x)
		for at := range fanout + 1 {
			note(at < int(x.count) || x.dues[at] == math.MaxInt64, "behind the bounds", x)
		}
		for at := range int(x.count) {
			from := len(all)
			visit(x.below[at], level-1)
			for _, one := range all[from:] {
				if at > 0 {
					bound := x.bound(at)
					note(!one.before(&bound), "too early", x)
				}
				if at+1 < int(x.count) {
					bound := x.bound(at + 1)
					note(one.before(&bound), "too late", x)
				}
			}
		}
	}
	if h.root != 0 {
		visit(h.root, h.height)
		require.Equal(t, []int32{ends[0], ends[len(ends)-1]}, []int32{h.first, h.last})
		first := all[:h.places.leaf(h.first).len()]
		note(slices.IsSortedFunc(first, order), "first leaf", first)
		for at, one := range all {
			note(leaves == 1 || one.before(&h.high) == (at < len(first)), "high", one)
			note(leaves == 1 || one.before(&h.low) == (at < len(all)-h.places.leaf(h.last).len()), "low", one)
		}
		note(h.taken == 0 || slices.Contains(ends, h.taken), "taken", h.taken)
		note(h.newest == nil || h.height > 0, "what came last", h.newest)
		for at, one := range h.newest {
			note(h.places.items.At(one.number).place == ^int32(at) && h.places.entry(one.number) == one, "place of what came last", one)
			note(!one.before(&h.high) && one.before(&h.low), "newest", one)
		}
		all = append(all, h.newest...)
	} else {
		require.Equal(t, []int32{0, 0}, []int32{h.first, h.last})
		require.Nil(t, h.newest)
		require.Zero(t, h.height)
		require.Zero(t, h.taken)
	}
	require.Empty(t, fault)
	require.Len(t, all, h.Len())
	slices.SortFunc(all, order)
	return all, leaves
}

// Growing and shrinking in all ways, with trees of several levels.
func TestTreeStaysSound(t *testing.T) {
	const most = 30_000
	ways := map[string]func(r *rand.Rand, i int) int64{
		"rising":         func(_ *rand.Rand, i int) int64 { return int64(i) },
		"falling":        func(_ *rand.Rand, i int) int64 { return -int64(i) },
		"random":         func(r *rand.Rand, _ int) int64 { return r.Int63() },
		"few times":      func(r *rand.Rand, _ int) int64 { return r.Int63n(3) },
		"from both ends": func(_ *rand.Rand, i int) int64 { return int64(i) * int64(1-i%2*2) },
		"to the middle":  func(_ *rand.Rand, i int) int64 { return int64(most-i) * int64(1-i%2*2) },
	}
	for name, due := range ways {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			var h Heap
			for i := range most {
				h.Set(int32(i), due(r, i), uint64(i))
			}
			all, leaves := sound(t, &h)
			require.LessOrEqual(t, leaves, 1+2*most/slots)
			if name == "rising" || name == "falling" {
				require.LessOrEqual(t, leaves, 1+most/slots)
			}
			for left, i := range r.Perm(most) {
				switch left % 3 {
				case 0:
					h.Remove(int32(i))
				case 1:
					number, _, _ := h.Min()
					h.Remove(number)
				case 2:
					h.Set(int32(i), due(r, i), uint64(most+left))
				}
				if left%1009 == 0 {
					sound(t, &h)
				}
			}
			for len(all) > 0 {
				all, leaves = sound(t, &h)
				require.LessOrEqual(t, leaves, 2+8*len(all)/slots, "%d", len(all))
				for _, i := range r.Perm(len(all))[:(len(all)+1)/2] {
					h.Remove(all[i].number)
				}
				all, _ = sound(t, &h)
			}
			requireNothingKept(t, h.places)
		})
	}
}
