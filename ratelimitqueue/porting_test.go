package ratelimitqueue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// What maintainers of other queues ask before they replace theirs; see MIGRATING.md.

// Karmada: with a rate for each worker, six workers have six times the rate. Here they take at the same time, and some
// tries fail and are retried.
func TestSixWorkersStayWithinOneRate(t *testing.T) {
	for _, burst := range []int{1, 4} {
		f := queue(t, Config{Rate: 0.5, Burst: burst})
		for i := range 200 {
			f.Add(fmt.Sprint(i), i)
		}
		var mu sync.Mutex
		var taken []time.Duration
		for range 400 { // quarters of a second
			now := f.clk.Now().Sub(epoch)
			sixTimes(func() {
				item, ok := f.Take()
				if !ok {
					return
				}
				mu.Lock()
				taken = append(taken, now)
				mu.Unlock()
				if item.Value%3 == 0 && item.Attempts == 0 {
					item.RetryAfter(0)
				} else {
					item.Forget()
				}
			})
			f.step(250 * time.Millisecond)
		}
		require.Len(t, taken, burst+49, "the burst, and then one in two seconds up to 98")
		for i := range taken {
			for j := i; j < len(taken); j++ {
				within := 0.5*(taken[j]-taken[i]).Seconds() + float64(burst)
				require.LessOrEqual(t, float64(j-i+1), within, "between %s and %s", taken[i], taken[j])
			}
		}
	}
}

// sixTimes calls f in six goroutines at once and waits for them.
func sixTimes(f func()) {
	var workers sync.WaitGroup
	for range 6 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			f()
		}()
	}
	workers.Wait()
}

// Karmada: at rate 0 no worker takes anything, whether the queue started like that or was stopped with a full bucket.
func TestRateZeroHandsOutNothing(t *testing.T) {
	for _, limit := range []rate.Limit{0, 0.5} {
		f := queue(t, Config{Rate: limit, Burst: 6})
		for i := range 10 {
			f.Add(fmt.Sprint(i), i)
		}
		require.NoError(t, f.SetRate(0))
		for range 60 {
			sixTimes(func() {
				if item, ok := f.Take(); ok {
					t.Errorf("%s was handed out", item.Key)
				}
			})
			f.step(time.Minute)
		}
		require.Equal(t, 10, f.Len(), "nothing is forgotten")
		f.wantNoNext()
	}
}

// Katalyst, kubernetes#104639: after 0, any rate resumes, even exactly 1, whatever the rate was before.
func TestSwapFromZeroResumes(t *testing.T) {
	for _, before := range []rate.Limit{0, 0.1, 1, 100000} {
		for _, limit := range []rate.Limit{1, 0.1, 0.3, 1.0 / 3, 7, 100000, 0.01} {
			f := queue(t, Config{Rate: before})
			f.Add("a", 0)
			require.NoError(t, f.SetRate(0))
			require.Empty(t, f.takes(), "a stored token is not handed out at rate 0")
			f.wantNoNext()
			require.NoError(t, f.SetRate(limit))
			require.Empty(t, f.takes(), "drained")
			next, ok := f.Next()
			require.True(t, ok)
			require.InDelta(t, 1/float64(limit), next.Sub(epoch).Seconds(), 1e-8)
			f.clk.SetTime(next.Add(-2))
			require.Empty(t, f.takes())
			f.clk.SetTime(next)
			require.Equal(t, []string{"a"}, f.takes(), "Take succeeds exactly at Next")
		}
	}
}

// Karpenter: an item that a disruption budget blocks waits for as long as it was told to, even if every reconcile adds
// it again. The others get all the tokens meanwhile.
func TestBlockedItemBacksOffAndStarvesNobody(t *testing.T) {
	f := queue(t, Config{Rate: 1})
	var blocked []int
	var others []string
	for second := range 60 {
		f.Add("blocked", second)
		if second < 20 {
			f.Add(fmt.Sprint(second), 0)
		}
		if item, ok := f.Take(); ok && item.Key == "blocked" {
			blocked = append(blocked, second)
			item.RetryAfter(20 * time.Second)
		} else if ok {
			others = append(others, item.Key)
			item.Forget()
		}
		f.step(time.Second)
	}
	require.Equal(t, []int{0, 21, 41}, blocked, "at 20 it was due, and the last of the others was due before")
	require.Len(t, others, 20)
}
