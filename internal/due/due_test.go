package due

import (
	"flag"
	"math/rand"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

var operations = flag.Int("operations", 100_000, "how many random operations are compared with the model")

// one is what waits in these tests, as others keep it: by key in a Map, by due time in one of two heaps.
type one struct {
	key   int
	due   int64
	seq   uint64
	heap  int
	place Place
}

// model does what a Map and two Heaps of its records must do, slowly.
type model struct {
	t     *testing.T
	known map[int]one
	all   Map[int, one]
	heaps [2]Heap[*one]
}

func (m *model) least(heap int) (least one, some bool) {
	for _, o := range m.known {
		if o.heap == heap && (!some || o.due < least.due || o.due == least.due && o.seq < least.seq) {
			least, some = o, true
		}
	}
	return least, some
}

// operate does something with one of some keys.
func (m *model) operate(r *rand.Rand, keys int) {
	key, due, seq := r.Intn(keys), r.Int63n(20), r.Uint64()
	o, known := m.all.Get(key), false
	if _, known = m.known[key]; known != (o != nil) {
		require.Fail(m.t, "known or not", key)
	}
	switch op := r.Intn(8); {
	case !known && op < 5:
		o = m.all.Add(key)
		require.Equal(m.t, one{}, *o)
		*o = one{key: key, heap: r.Intn(2)}
		m.set(o, due, seq)
	case !known:
	case op < 3:
		m.set(o, due, seq)
	case op < 5:
		require.True(m.t, m.heaps[o.heap].Remove(&o.place))
		require.False(m.t, m.heaps[o.heap].Remove(&o.place))
		o.heap = 1 - o.heap
		m.set(o, due, seq)
	default:
		m.forget(o)
	}
}

func (m *model) set(o *one, due int64, seq uint64) {
	o.due, o.seq = due, seq
	m.heaps[o.heap].Set(o, &o.place, due, seq)
	m.known[o.key] = *o
}

func (m *model) forget(o *one) {
	delete(m.known, o.key)
	m.heaps[o.heap].Remove(&o.place)
	m.all.Delete(o.key, o)
}

// clear forgets what is in one heap.
func (m *model) clear(heap int) {
	for _, o := range m.all.All() {
		if o.heap == heap {
			m.forget(o)
		}
	}
}

func (m *model) check() {
	if len(m.known) != m.all.Len() || len(m.known) != m.heaps[0].Len()+m.heaps[1].Len() {
		require.Fail(m.t, "other numbers")
	}
	for i := range m.heaps {
		least, some := m.least(i)
		o, due, ok := m.heaps[i].Min()
		if ok != some || ok && (o.key != least.key || due != least.due) {
			require.Fail(m.t, "not the least")
		}
	}
}

func (m *model) checkAll() {
	for key, o := range m.all.All() {
		want := m.known[key]
		want.place = o.place
		require.Equal(m.t, want, *o)
		require.True(m.t, o.place.In())
	}
	for i := range m.heaps {
		for due := range int64(21) {
			got, want, visits := map[int]bool{}, map[int]bool{}, 0
			m.heaps[i].Until(due-1, func(o *one) { got[o.key], visits = true, visits+1 })
			for key, o := range m.known {
				if o.heap == i && o.due < due {
					want[key] = true
				}
			}
			require.Equal(m.t, want, got)
			require.Len(m.t, want, visits, "each once")
		}
	}
}

func TestAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	m := &model{t: t, known: map[int]one{}}
	for n := range *operations {
		m.operate(r, 1+n/100%60)
		m.check()
		if n%1000 == 0 {
			m.checkAll()
		}
		if r.Intn(2000) == 0 {
			m.clear(r.Intn(2))
		}
	}
}

// What is kept is in order and complete through every growing and shrinking, also if the loop over all deletes them.
func TestManyComeAndGo(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, n := range []int{few - 1, few + 1, 100_000} {
		m := &model{t: t, known: map[int]one{}}
		for key := range n {
			o := m.all.Add(key)
			*o = one{key: key, heap: key % 2}
			m.set(o, r.Int63n(20), r.Uint64())
		}
		left := n/8 + 1
		for key, o := range m.all.All() {
			require.Equal(t, key, o.key)
			m.forget(o)
			if m.all.Len() == left {
				break
			}
		}
		m.checkAll()
		for i := range m.heaps {
			last := int64(0)
			for o, due, ok := m.heaps[i].Min(); ok; o, due, ok = m.heaps[i].Min() {
				require.GreaterOrEqual(t, due, last)
				last = due
				m.forget(o)
			}
		}
		require.Zero(t, m.all.Len())
	}
}

func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools need two collections
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func TestMemoryFollowsTheKeys(t *testing.T) {
	const n = 200_000
	var all Map[int, one]
	var heap Heap[*one]
	before := inUse()
	for key := range n {
		o := all.Add(key)
		heap.Set(o, &o.place, int64(key), 0)
	}
	peak, key := inUse()-before, 0
	for _, left := range []struct {
		keys  int
		share float64
	}{{n / 8, 0.25}, {0, 0.05}} {
		for ; all.Len() > left.keys; key++ {
			o := all.Get(key)
			heap.Remove(&o.place)
			all.Delete(key, o)
		}
		require.Less(t, (inUse()-before)/peak, left.share)
	}
	runtime.KeepAlive(&all)
	runtime.KeepAlive(&heap)
}

func TestNoAllocationsOnceWarm(t *testing.T) {
	var all Map[int, one]
	var heap Heap[*one]
	add := func(key int) {
		o := all.Add(key)
		heap.Set(o, &o.place, int64(key*7919%1000), 0)
	}
	for key := range 1000 {
		add(key)
	}
	key := 0
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		key = (key + 1) % 1000
		o := all.Get(key)
		heap.Remove(&o.place)
		all.Delete(key, o)
		add(key)
	}))
}

// comeAndGo adds n keys and deletes them.
func comeAndGo(all *Map[int, one], heap *Heap[*one], n int) {
	for key := range n {
		o := all.Add(key)
		heap.Set(o, &o.place, int64(key), 0)
	}
	for key := range n {
		o := all.Get(key)
		heap.Remove(&o.place)
		all.Delete(key, o)
	}
}

// What was given back is not used again by few. Many use it again, and it has nothing old in it.
func TestRoomOfManyIsForMany(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or the collector takes the room
	var all Map[int, one]
	var heap Heap[*one]
	for round := range 5 { // a goroutine that changes its processor finds no room
		first := (round + 1) * 100_000
		comeAndGo(&all, &heap, 100_000)
		for key := first; key < first+4*few; key++ {
			o := all.Add(key)
			o.key = key
			heap.Set(o, &o.place, int64(key), 0)
			if max(all.most, cap(heap.entries)) >= 8*max(all.Len(), few) {
				require.Fail(t, "too much room", key)
			}
		}
		require.Equal(t, 4*few, all.Len())
		for key := first; key < first+4*few; key++ {
			if o, due, ok := heap.Min(); !ok || o != all.Get(key) || o.key != key || due != int64(key) {
				require.Fail(t, "another one", key)
			}
			o := all.Get(key)
			heap.Remove(&o.place)
			all.Delete(key, o)
		}
		require.Zero(t, all.Len()+heap.Len())
	}
}

func BenchmarkRefill100000(b *testing.B) {
	var all Map[int, one]
	var heap Heap[*one]
	b.ReportAllocs()
	for range b.N {
		comeAndGo(&all, &heap, 100_000)
	}
}

// The same if nothing that was given back is used again.
func BenchmarkRefillPlain100000(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		var all Map[int, one]
		var heap Heap[*one]
		comeAndGo(&all, &heap, 100_000)
	}
}
