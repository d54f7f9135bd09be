package budget

import (
	"cmp"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each script is: who takes a token, and when, in seconds; "give back" and "commit" end that reservation. One token comes
// back in ten seconds. The bucket misses that many tokens at the end, as if everything that stayed had come in order.
func TestTokensAsIfTakenInOrder(t *testing.T) {
	type step struct {
		at   int64
		what string // of the reservation taken at that second, "adopt" that of none
		of   int64
	}
	for name, row := range map[string]struct {
		steps []step
		now   int64
		want  float64
	}{
		"nothing":                                    {nil, 5, 0},
		"two after another":                          {[]step{{0, "take", 0}, {5, "take", 5}}, 5, 1.5},
		"given back at once":                         {[]step{{0, "take", 0}, {0, "give back", 0}}, 5, 0},
		"given back later":                           {[]step{{0, "take", 0}, {5, "give back", 0}}, 5, 0},
		"given back after a pause and another":       {[]step{{0, "take", 0}, {0, "commit", 0}, {20, "take", 20}, {25, "take", 25}, {25, "commit", 25}, {30, "give back", 20}}, 30, 0.5},
		"given back when all has come back":          {[]step{{0, "take", 0}, {25, "take", 25}, {26, "give back", 0}}, 26, 0.9},
		"given back, and it delayed what is settled": {[]step{{0, "take", 0}, {1, "take", 1}, {2, "take", 2}, {2, "commit", 2}, {3, "give back", 0}, {3, "give back", 1}}, 3, 0.9},
		"committed later than another":               {[]step{{0, "take", 0}, {12, "take", 12}, {12, "commit", 12}, {13, "commit", 0}}, 13, 0.9},
		"adopted":                                    {[]step{{8, "adopt", 3}}, 8, 0.5},
		"adopted long after":                         {[]step{{50, "adopt", 3}}, 50, 0},
		"three of one time adopted":                  {[]step{{8, "adopt", 0}, {8, "adopt", 0}, {8, "adopt", 0}}, 8, 2.2},
		"adopted in order":                           {[]step{{30, "adopt", 0}, {30, "adopt", 12}, {30, "adopt", 23}, {30, "adopt", 24}}, 30, 1.3},
		"adopted out of order":                       {[]step{{30, "adopt", 24}, {30, "adopt", 12}, {30, "adopt", 23}, {30, "adopt", 0}}, 30, 1.3},
		"adopted between what was taken":             {[]step{{0, "take", 0}, {0, "commit", 0}, {12, "take", 12}, {15, "adopt", 1}}, 15, 1.5},
		"adopted, and fills a pause":                 {[]step{{0, "take", 0}, {0, "commit", 0}, {20, "take", 20}, {20, "commit", 20}, {25, "adopt", 5}}, 25, 0.5},
		"adopted while idle":                         {[]step{{0, "take", 0}, {0, "commit", 0}, {30, "take", 30}, {35, "adopt", 15}}, 35, 0.5},
		"given back, and adopted instead of it":      {[]step{{0, "take", 0}, {25, "give back", 0}, {25, "adopt", 0}, {25, "adopt", 0}}, 25, 0},
		"adopted, and given back what it delayed":    {[]step{{5, "take", 5}, {8, "adopt", 0}, {8, "adopt", 0}, {9, "give back", 5}}, 9, 1.1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(0.1)
			at := func(second int64) taking { return taking{second * int64(time.Second), b.work(1)} }
			for _, is := range row.steps {
				switch is.what {
				case "take":
					b.take(at(is.of))
				case "give back":
					b.giveBack(at(is.of))
				case "commit":
					b.keep(at(is.of))
				case "adopt":
					b.add(at(is.of))
				}
			}
			requireApart(t, b)
			require.InDelta(t, row.want, float64(b.left(row.now*int64(time.Second)))/float64(b.token), 1e-9)
		})
	}
}

// requireApart: no idle time is empty, and none begins where another ends.
func requireApart(t *testing.T, b *bucket) {
	t.Helper()
	for i, is := range b.idle {
		require.True(t, is.from < is.to && (i == 0 || b.idle[i-1].to < is.from), "%v", b.idle)
	}
}

// replay is the work that is left of all takings, one after the other.
func replay(all []taking, now int64) (left int64) {
	all = slices.SortedFunc(slices.Values(all), func(a, b taking) int { return cmp.Compare(a.at, b.at) })
	last := int64(0)
	for _, t := range append(all, taking{at: now}) {
		left = max(0, left-(t.at-last)) + t.work
		last = t.at
	}
	return left
}

// bucketLife is a bucket and all that was taken and not given back.
type bucketLife struct {
	r    *rand.Rand
	b    *bucket
	now  int64
	all  []taking
	open []taking
}

func (l *bucketLife) step(adopts bool) {
	l.now += l.r.Int63n(3) * l.r.Int63n(10) * int64(time.Second) / 7
	t := taking{l.now, l.b.work(l.r.Int63n(4))}
	switch what := l.r.Intn(8); {
	case what < 4:
		l.b.take(t)
		l.open, l.all = append(l.open, t), append(l.all, t)
	case what == 4 && adopts:
		t.at = l.r.Int63n(l.now + 1)
		l.b.add(t)
		l.all = append(l.all, t)
	case what > 4 && len(l.open) > 0:
		i := l.r.Intn(len(l.open))
		t := l.open[i]
		if l.open = slices.Delete(l.open, i, i+1); what == 5 {
			l.b.giveBack(t)
			i := slices.Index(l.all, t)
			l.all = slices.Delete(l.all, i, i+1)
		} else {
			l.b.keep(t)
		}
	}
}

func TestBucketIsAReplay(t *testing.T) {
	for seed := range int64(*operations / 200) {
		r := rand.New(rand.NewSource(seed))
		l := &bucketLife{r: r, b: newBucket([]float64{0.3, 1, 3}[r.Intn(3)])}
		for len(l.b.idle) < mostIdle {
			l.step(true)
			require.Equal(t, replay(l.all, l.now), l.b.left(l.now), "life %d", seed)
			requireApart(t, l.b)
			if len(l.all) > 150 {
				break
			}
		}
	}
}

// A bucket remembers a bounded number of idle times. Beyond that it never misses less than it should.
func TestBucketIsBounded(t *testing.T) {
	for seed := range int64(8) {
		l := &bucketLife{r: rand.New(rand.NewSource(seed)), b: newBucket(4)}
		for range 500 {
			l.step(seed%2 == 0)
			require.LessOrEqual(t, len(l.b.idle), mostIdle)
			require.GreaterOrEqual(t, l.b.left(l.now), replay(l.all, l.now), "life %d", seed)
		}
		require.Len(t, l.b.idle, mostIdle)
	}
	b := newBucket(0.1)
	leaked := taking{0, b.work(1)}
	b.take(leaked)
	for i := range int64(1000) {
		now := taking{i * b.token * 3 / 2, b.work(1)}
		b.take(now)
		b.keep(now)
	}
	require.Len(t, b.idle, mostIdle)
	require.Empty(t, b.open, "it has had no effect for a long time")
	full := b.full
	b.giveBack(leaked)
	require.Equal(t, full, b.full)
	b.add(taking{b.idle[1].from, b.work(1)})
	require.Equal(t, full, b.full, "it is lost in the pauses since")
	b.add(taking{beginning, b.work(1000)})
	b.add(taking{-2 * b.work(1000), b.work(1000)})
	require.Equal(t, full, b.full, "before all that was ever taken there was time enough")
}

// What is open costs its tokens once, even if the bucket forgets the time at which they were taken.
func TestOpenForLong(t *testing.T) {
	b := newBucket(1)
	heavy := taking{0, b.work(100)}
	b.take(heavy)
	for i := range int64(40) {
		now := taking{i * b.token * 3 / 2, b.work(1)}
		b.take(now)
		b.keep(now)
	}
	require.Equal(t, b.work(140), b.full)
	require.Empty(t, b.open)
	now := taking{b.work(60), b.work(1)}
	b.take(now)
	b.giveBack(now)
	b.giveBack(heavy)
	require.Equal(t, b.work(140), b.full)
}

// While tokens are taken as fast as they come, nothing piles up.
func TestBusyBucketDoesNotGrow(t *testing.T) {
	b := newBucket(0.7)
	for i := range int64(1000) {
		is := taking{i * b.token, b.work(1)}
		b.take(is)
		b.keep(is)
		require.Len(t, b.idle, 2)
	}
	require.Empty(t, b.open)
}

// The burst can be had at once with any rate, and a refusal ends at the very nanosecond that it names.
func TestRefusalEndsOnTime(t *testing.T) {
	for _, rate := range []float64{0.1, 0.3, 1. / 3, 10. / 3600, 1. / 49, 7, 0.07, 1e-4, 999, 1234.5, 1e6, 3e8} {
		for burst := range int64(5) {
			burst++
			b, now, token := newBucket(rate), int64(12345), float64(time.Second)/rate
			for range burst {
				no, _ := b.ask(1, burst, now)
				require.Equal(t, agreed, no.kind)
				b.take(taking{now, b.work(1)})
			}
			for range 100 {
				no, again := b.ask(1, burst, now)
				require.Equal(t, answer{tooMany, 1, 0}, no)
				require.InDelta(t, token, float64(again-now), 1)
				no, _ = b.ask(1, burst, again-1)
				require.Equal(t, tooMany, no.kind)
				no, _ = b.ask(1, burst, again)
				require.Equal(t, agreed, no.kind)
				now = again
				b.take(taking{now, b.work(1)})
			}
		}
	}
	require.EqualValues(t, 10*time.Second, newBucket(0.1).token)
	require.EqualValues(t, 6*time.Minute, newBucket(10./3600).token)
	require.EqualValues(t, 49*time.Second, newBucket(1./49).token)
	require.EqualValues(t, 3_333_333_334, newBucket(0.3).token)
}

func TestBucketDoesNotOverflow(t *testing.T) {
	ever := newBucket(1)
	ever.add(taking{0, 1})
	ever.add(taking{beginning, 1})
	require.Equal(t, []span{{math.MinInt64, beginning}, {beginning + 1, 0}, {1, forever}}, ever.idle)
	for _, rate := range []float64{1e-300, 1e-9, 1, 1e300} {
		b := newBucket(rate)
		for _, weight := range []int64{1, 1 << 40, math.MaxInt64} {
			for _, at := range []int64{beginning, -1, 0, 5} {
				now := taking{5, b.work(weight)}
				b.add(taking{at, now.work})
				b.take(now)
				left := b.left(5)
				require.Positive(t, left)
				b.take(now)
				b.giveBack(now)
				require.Equal(t, left, b.left(5))
				b.keep(now)
				require.Equal(t, left, b.left(5))
				_, again := b.ask(math.MaxInt64, math.MaxInt64, 5)
				require.Greater(t, again, int64(5))
				require.Positive(t, b.missing(5))
			}
		}
	}
}
