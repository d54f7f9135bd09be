package slab_test

import (
	"math/rand"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/dueheap"
	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/internal/slab"
)

type record struct {
	value int
	_     string
	_     [4]int64
}

// store has the parts of a queue.
type store struct {
	index   keyindex.Index[string]
	records slab.Slab[record]
	due     dueheap.Heap
}

func (s *store) add(key string, n int) {
	i, _ := s.index.Insert(key)
	s.records.Use(i).value = n
	s.due.Set(i, int64(n%1000), uint64(n))
}

func (s *store) remove(key string) {
	i, _ := s.index.Find(key)
	s.due.Remove(i)
	s.records.Free(i)
	s.index.Delete(key)
}

func memory() (now, everAllocated uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what is spare until the next one, too
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.TotalAlloc
}

func TestMemoryFollowsWhatIsThere(t *testing.T) {
	const most, stay = 300_000, 300
	keys := make([]string, most)
	for n := range keys {
		keys[n] = "pod-" + strconv.Itoa(n)
	}
	order := rand.New(rand.NewSource(1)).Perm(most)

	var s store
	before, allocatedBefore := memory()
	for n, key := range keys {
		s.add(key, n)
	}
	peak, allocated := memory()
	peak -= before
	t.Logf("%d B an item at the peak, %d B allocated for it", peak/most, (allocated-allocatedBefore)/most)
	require.LessOrEqual(t, (allocated-allocatedBefore)/most, uint64(170))

	kept := func() uint64 {
		now, _ := memory()
		return max(now, before) - before
	}
	for _, n := range order[stay:] {
		s.remove(keys[n])
	}
	t.Logf("%d B kept for %d scattered keys", kept(), stay)
	require.Less(t, kept(), peak/20)
	for _, n := range order[:stay] {
		s.remove(keys[n])
	}
	t.Logf("%d B kept for none", kept())
	require.Less(t, kept(), peak/100)
	runtime.KeepAlive(&s)
	runtime.KeepAlive(keys)
}
