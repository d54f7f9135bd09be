package keyindex

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// model does what an Index must do, with builtin maps.
type model struct {
	numbers map[string]int32
	taken   map[int32]bool
	gone    string // the key deleted last, if no other came or went since
	was     int32  // its number
}

func (m *model) leastFree() int32 {
	for number := int32(0); ; number++ {
		if !m.taken[number] {
			return number
		}
	}
}

func (m *model) step(t *testing.T, x *Index[string], operation int, key string) {
	number, known := m.numbers[key]
	switch operation {
	case 0:
		if !known {
			number = m.leastFree()
			if key == m.gone {
				number = m.was
			}
		}
		m.gone = ""
		got, isNew := x.Insert(key)
		require.Equal(t, !known, isNew)
		require.Equal(t, number, got)
		m.numbers[key], m.taken[number] = got, true
		require.Less(t, int(got), x.Cap())
		require.Equal(t, key, x.Key(got))
	case 1:
		require.Equal(t, known, x.Delete(key))
		m.gone = ""
		delete(m.numbers, key)
		if known {
			delete(m.taken, number)
			if len(m.taken) > 0 {
				m.gone, m.was = key, number
			}
		}
	case 2:
		got, ok := x.Find(key)
		require.Equal(t, known, ok)
		if known {
			require.Equal(t, number, got)
		}
	}
	require.Equal(t, len(m.numbers), x.Len())
}

func (m *model) check(t *testing.T, x *Index[string]) {
	taken := map[int32]bool{}
	for key, number := range m.numbers {
		got, ok := x.Find(key)
		if !ok || got != number || x.Key(got) != key || taken[number] {
			require.Fail(t, "lost, or a number twice", "%s: %d, %d %v", key, number, got, ok)
		}
		taken[number] = true
	}
}

func TestIndexAgainstAMap(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		var x Index[string]
		m := &model{numbers: map[string]int32{}, taken: map[int32]bool{}}
		_, ok := x.Find("nothing")
		require.False(t, ok)
		require.False(t, x.Delete("nothing"))
		for range 3000 {
			m.step(t, &x, r.Intn(3), fmt.Sprint("key-", r.Intn(1+r.Intn(600))))
		}
		m.check(t, &x)
	}
}

// The index grows to thousands of keys and falls to a few, again and again.
func TestWavesAgainstAMap(t *testing.T) {
	for seed := range int64(4) {
		r := rand.New(rand.NewSource(seed))
		var x Index[string]
		numbers, taken := map[string]int32{}, map[int32]bool{}
		remove := func(key string) {
			number, known := numbers[key]
			if x.Delete(key) != known {
				require.Fail(t, "Delete", key)
			}
			if known {
				delete(numbers, key)
				delete(taken, number)
			}
		}
		for wave := range 6 {
			for range 40_000 {
				key := fmt.Sprint("key-", r.Intn(80_000))
				if r.Intn(8) > 0 != (wave%2 == 0) {
					remove(key)
					continue
				}
				number, known := numbers[key]
				got, isNew := x.Insert(key)
				if known == isNew || known && got != number || !known && taken[got] {
					require.Fail(t, "Insert", key)
				}
				numbers[key], taken[got] = got, true
			}
			for key := range numbers {
				if wave%2 == 1 && r.Intn(50) > 0 {
					remove(key)
				}
			}
			require.Equal(t, len(numbers), x.Len())
			(&model{numbers: numbers}).check(t, &x)
		}
	}
}

func TestAKeyThatCannotBeHashedChangesNothing(t *testing.T) {
	var x Index[any]
	unhashable := []any{[]int{1}, map[string]int{}, struct{ a any }{[]int{1}}}
	for n := range 2000 {
		if n%100 == 0 || n < 20 {
			for _, key := range unhashable {
				require.Panics(t, func() { x.Find(key) })
				require.Panics(t, func() { x.Insert(key) })
				require.Panics(t, func() { x.Delete(key) })
			}
			require.Equal(t, n, x.Len())
			require.Equal(t, n, x.Cap())
		}
		number, isNew := x.Insert(n)
		require.True(t, isNew)
		require.Equal(t, int32(n), number)
	}
}

// Deleting and inserting a key again and again allocates nothing, however many keys there are, even if that key needs a
// chunk of its own.
func TestDeleteInsertAllocatesNothing(t *testing.T) {
	var x Index[int]
	for n := range 1600 {
		x.Insert(n)
		if n%32 > 1 && n%32 < 31 {
			continue
		}
		cost := testing.AllocsPerRun(100, func() {
			x.Delete(n)
			x.Insert(n)
		})
		require.Zero(t, cost, "%d keys", n+1)
	}
}

func TestNumbersAreTheLeastFree(t *testing.T) {
	var n numbers
	for want := range int32(5000) {
		require.Equal(t, want, n.take())
	}
	require.Equal(t, 5000, n.given)
	for _, number := range []int32{4999, 0, 63, 64, 4096, 4095, 2000} {
		n.release(number)
	}
	for _, want := range []int32{0, 63, 64, 2000, 4095, 4096, 4999, 5000} {
		require.Equal(t, want, n.take())
	}
}

func TestDeleteWhereAKeyWasFound(t *testing.T) {
	var x Index[string]
	_, ok := x.Locate("nothing")
	require.False(t, ok)
	for i := range 3000 {
		x.Insert(fmt.Sprint("key-", i))
	}
	for i := range 3000 {
		key := fmt.Sprint("key-", i)
		want, _ := x.Find(key)
		place, ok := x.Locate(key)
		require.True(t, ok)
		require.Equal(t, want, place.Number())
		x.DeleteAt(place)
		_, ok = x.Locate(key)
		require.False(t, ok)
		require.Equal(t, 2999-i, x.Len())
	}
}
