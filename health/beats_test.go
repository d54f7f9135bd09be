package health

import (
	"math"
	"math/rand"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

// checkHeap walks a heap of entries with their own grace, checks it, and returns which entries are in it.
func checkHeap(t *testing.T, b *beats, root, parent int32) (in []int32, rank int32) {
	if root == none {
		return nil, 0
	}
	n := b.own.At(root)
	require.Equal(t, parent, n.parent)
	left, leftRank := checkHeap(t, b, n.left, root)
	right, rightRank := checkHeap(t, b, n.right, root)
	require.GreaterOrEqual(t, leftRank, rightRank)
	require.Equal(t, rightRank+1, n.rank)
	for _, child := range []int32{n.left, n.right} {
		require.True(t, child == none || b.own.At(child).grace >= n.grace)
	}
	return append(append([]int32{root}, left...), right...), n.rank
}

func TestGracesStayAHeap(t *testing.T) {
	for seed := range int64(15) {
		r := rand.New(rand.NewSource(seed))
		b := newBeats(10)
		roots := []int32{none, none}
		in := map[int32]int{} // in which of the two
		for range 300 {
			i := r.Int31n(40)
			switch which, known := in[i]; {
			case r.Intn(60) == 0:
				roots[0], roots[1] = b.meld(roots[0], roots[1]), none
				if roots[0] != none {
					b.own.At(roots[0]).parent = none
				}
				for i := range in {
					in[i] = 0
				}
			case known:
				b.removeOwn(&roots[which], i)
				b.own.Free(i)
				delete(in, i)
			default:
				in[i] = r.Intn(2)
				b.own.Use(i).grace = r.Int63n(20)
				b.insertOwn(&roots[in[i]], i)
			}
			for which, root := range roots {
				got, _ := checkHeap(t, &b, root, none)
				for most := int64(-1); most < 21; most += 7 {
					var want, visited []int32
					for i, where := range in {
						if where == which && b.own.At(i).grace <= most {
							want = append(want, i)
						}
					}
					b.eachOwn(root, most, func(i int32) { visited = append(visited, i) })
					require.ElementsMatch(t, want, visited)
				}
				for _, i := range got {
					require.Equal(t, which, in[i])
				}
			}
		}
	}
}

func TestSums(t *testing.T) {
	require.Equal(t, int64(3), sum(1, 2))
	require.Equal(t, int64(math.MaxInt64), sum(math.MaxInt64-1, 2))
}

// Every key has a different grace, which changes.
func TestManyGraces(t *testing.T) {
	d, clk := deadlines(t)
	const keys = 40_000
	name := strconv.Itoa
	for round := range 2 {
		for i := range keys {
			d.Beat(name(i))
			require.True(t, d.SetGrace(name(i), time.Minute+time.Duration((i*7919+round)%keys)*time.Millisecond))
		}
	}
	d.Reset()
	for range 3 {
		next, ok := d.Next()
		require.True(t, ok)
		clk.SetTime(next)
		require.Len(t, slices.Collect(d.Expired()), 1)
	}
	require.Len(t, d.Late(), 3)
	for i := range keys {
		require.True(t, d.Forget(name(i)))
	}
	require.Equal(t, none, d.beats.stale)
	require.Equal(t, none, d.beats.touched)
	require.Zero(t, d.beats.timed.Len())
}

func heapInUse() uint64 {
	var m runtime.MemStats
	for range 3 { // a slab's spare segment goes with the next garbage collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// After many keys came and went, hardly any of their memory is kept, even if each had its own grace or was handed out.
func TestMemoryFollowsTheKeys(t *testing.T) {
	const keys = 60_000
	for name, own := range map[string]func(d *Deadlines[int], i int){
		"the common grace": func(*Deadlines[int], int) {},
		"their own graces": func(d *Deadlines[int], i int) { d.SetGrace(i, time.Hour+time.Duration(i)) },
		"in the past":      func(d *Deadlines[int], i int) { d.Forget(i); d.TrackSince(i, epoch.Add(-time.Duration(i))) },
	} {
		clk := testingclock.NewFakePassiveClock(epoch)
		d, err := NewDeadlines[int](DeadlinesConfig{Grace: time.Minute, Clock: clk})
		require.NoError(t, err)
		before := heapInUse()
		for i := range keys {
			d.Beat(i)
			own(d, i)
		}
		clk.SetTime(epoch.Add(time.Hour + keys/2))
		for range d.Expired() {
			continue
		}
		peak := heapInUse() - before
		for i := range keys {
			d.Forget((i * 7919) % keys)
		}
		require.Zero(t, d.Len())
		require.Less(t, float64(heapInUse())-float64(before), 0.05*float64(peak), name)
		runtime.KeepAlive(d)
	}
}

func TestMemoryFollowsTheNodes(t *testing.T) {
	const nodes = 60_000
	w := watching(t, 5*time.Second)
	before := heapInUse()
	for i := range nodes {
		w.Observe(Report{Node: strconv.Itoa(i), Created: epoch.Add(-time.Duration(i * 7919 % nodes)), UID: "u"})
	}
	w.Pass()
	w.Restart()
	peak := heapInUse() - before
	for i := range nodes {
		require.True(t, w.Forget(strconv.Itoa(i), "u"))
	}
	w.Pass()
	require.Zero(t, w.Len())
	require.Less(t, float64(heapInUse())-float64(before), 0.05*float64(peak))
	runtime.KeepAlive(w)
}
