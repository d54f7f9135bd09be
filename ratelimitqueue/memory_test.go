package ratelimitqueue

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func names(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "node-" + strconv.Itoa(i)
	}
	return names
}

// Memory follows the number of keys: hardly anything of a peak is kept, whether its keys were removed or handed out,
// and nothing of the values of ended items.
func TestMemoryFollowsTheKeys(t *testing.T) {
	keys := names(100_000)
	ways := map[string]func(*Queue[string, [64]byte]){
		"removed": func(q *Queue[string, [64]byte]) {
			for _, key := range keys {
				q.Remove(key)
			}
		},
		"done": func(q *Queue[string, [64]byte]) {
			for item, ok := q.Take(); ok; item, ok = q.Take() {
				item.Forget()
			}
		},
		"cleared": func(q *Queue[string, [64]byte]) { q.Clear() },
		"failed first": func(q *Queue[string, [64]byte]) {
			var items []Item[string, [64]byte]
			for item, ok := q.Take(); ok; item, ok = q.Take() {
				items = append(items, item)
			}
			for _, item := range items {
				q.Add(item.Key, [64]byte{}) // again, meanwhile
				item.RetryAfter(0)
			}
			for _, key := range keys {
				q.Remove(key)
			}
		},
	}
	for name, empty := range ways {
		q, err := New[string, [64]byte](Config{Rate: rate.Inf})
		require.NoError(t, err)
		before := heap()
		for _, key := range keys {
			q.Add(key, [64]byte{})
		}
		q.Add("one that stays", [64]byte{})
		peak := heap() - before
		empty(q)
		kept := heap() - before
		require.Less(t, kept, peak/20, "%s: of %d bytes", name, peak)
		runtime.KeepAlive(q)
	}
	runtime.KeepAlive(keys)
}

// The value is freed when its item ends, even if the key stays known.
func TestValuesAreNotHeldOnTo(t *testing.T) {
	q, err := New[int, *[1 << 20]byte](Config{Rate: rate.Inf})
	require.NoError(t, err)
	before := heap()
	for i := range 32 {
		q.Add(i, new([1 << 20]byte))
		item, _ := q.Take()
		item.Done()
	}
	_, known := q.Get(31)
	require.True(t, known)
	require.Less(t, heap()-before, int64(2<<20))
	runtime.KeepAlive(q)
}

// A key costs an allocation when it is first handed out. After that nothing does.
func TestNoAllocationsOnceWarm(t *testing.T) {
	keys, later := names(1000), epoch.Add(time.Hour)
	f := queue(t, Config{Rate: rate.Inf})
	g := group(t, GroupConfig[string, string]{Config: Config{Rate: rate.Inf}})
	for _, key := range keys {
		f.AddEntry(Entry[string, int]{Key: key, Due: later})
		g.AddEntry("p", Entry[string, int]{Key: key, Due: later})
	}
	f.Add("now", 1)
	g.Add("p", "now", 1)
	paced := group(t, GroupConfig[string, string]{Config: Config{Rate: 1000}, MaxRate: 1000})
	paced.Add("p", "a", 1)
	paced.Add("p", "b", 1)
	i := 0
	require.Zero(t, testing.AllocsPerRun(2000, func() {
		key := keys[i*7919%len(keys)]
		i++
		f.Remove(key)
		f.AddEntry(Entry[string, int]{Key: key, Due: later})
		g.Remove(key)
		g.AddEntry("p", Entry[string, int]{Key: key, Due: later})
		item, _ := f.Take()
		item.RetryAfter(0)
		other, _ := g.Take()
		other.Blocked(0)
		paced.step(time.Millisecond)
		first, _ := paced.Take()
		first.Blocked(time.Nanosecond)
		second, _ := paced.Take()
		second.Blocked(0)
		f.Next()
		g.Next()
	}))
}
