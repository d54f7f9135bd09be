package dueheap

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// sound checks the tree and returns its entries in order, and how many leaves there are.
func sound(t *testing.T, h *Heap) (all []entry, leaves int) {
	t.Helper()
	var fault string
	note := func(ok bool, what string, x *node) {
		if !ok && fault == "" {
			fault = fmt.Sprint(what, " ", *x)
		}
	}
	var visit func(id, parent int32, level int16)
	visit = func(id, parent int32, level int16) {
		x := h.places.nodes[id]
		note(x.id == id && x.parent == parent && (level < 0 || x.level == level), "place", x)
		note(x.len() > 0 && x.len() <= fanout, "count", x)
		note(x.sorted || x.level == 0 && x != h.first, "not in order", x)
		note(!x.sorted || slices.IsSortedFunc(x.all()[min(int(x.level), 1):], order), "sorted", x)
		if x.level == 0 {
			leaves++
			for at := x.start; at < x.end; at++ {
				note(h.places.of(x.entries[at].number) == place(id, at), "place of a number", x)
				all = append(all, x.entries[at])
			}
			return
		}
		for at := x.start; at < x.end; at++ {
			from := len(all)
			visit(x.entries[at].number, id, x.level-1)
			for _, one := range all[from:] {
				note(at == x.start || !one.before(&x.entries[at]), "too early", x)
				note(at+1 == x.end || !x.entries[at+1].before(&one), "too late", x)
			}
		}
	}
	if h.root != 0 {
		visit(h.root, 0, -1)
		note(h.first == h.end(true) && h.last == h.end(false), "ends", h.first)
	} else {
		require.Nil(t, h.first)
		require.Nil(t, h.last)
	}
	require.Empty(t, fault)
	require.Len(t, all, h.Len())
	slices.SortFunc(all, order)
	return all, leaves
}

// All ways to grow and to shrink, in trees of several levels.
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
			require.LessOrEqual(t, leaves, 1+2*most/fanout)
			if name == "rising" || name == "falling" {
				require.LessOrEqual(t, leaves, 1+most/fanout)
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
				require.LessOrEqual(t, leaves, 2+8*len(all)/fanout, "%d", len(all))
				for _, i := range r.Perm(len(all))[:(len(all)+1)/2] {
					h.Remove(all[i].number)
				}
				all, _ = sound(t, &h)
			}
			for _, x := range h.places.nodes {
				require.Nil(t, x)
			}
		})
	}
}
