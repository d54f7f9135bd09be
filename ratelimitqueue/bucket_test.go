package ratelimitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// Whatever the rate, Take succeeds at Next, and not two nanoseconds before; one is rounding.
func TestTakeSucceedsAtNext(t *testing.T) {
	rates := []rate.Limit{1e-6, 0.1, 1.0 / 3, 0.37, 3.3, 1e3 / 7, 99999, 1e8}
	for seed := range uint64(300) {
		c := &seededChoices{state: seed * 104729}
		f := group(t, GroupConfig[string, string]{Config: Config{Rate: pick(c, rates...), Burst: pick(c, 1, 3)}})
		for range 40 {
			f.Add("d", "a", 0)
			next, ok := f.Next()
			require.True(t, ok)
			if early := next.Add(-2); early.After(f.clk.Now()) {
				f.clk.SetTime(early)
				require.Empty(t, f.takes(), "seed %d", seed)
			}
			f.clk.SetTime(next)
			item, ok := f.Take()
			require.True(t, ok, "seed %d", seed)
			if c.below(4) == 0 { // its token comes back
				item.Blocked(time.Nanosecond)
				f.Remove("a")
			} else {
				item.Forget()
			}
			switch f.step(time.Duration(c.below(1 << 30))); c.below(4) {
			case 0:
				require.NoError(t, f.SetRate("d", pick(c, rates...)))
			case 1:
				f.PauseDomain("d")
				f.step(time.Duration(c.below(1 << 30)))
				f.ResumeDomain("d")
			}
		}
	}
}

// While a preference is asked for, somebody else may take at a later reading of the clock. What accrued until then does not
// accrue once more.
func TestOldReadingMakesNoToken(t *testing.T) {
	var f *groupFixture
	var during func()
	f = group(t, GroupConfig[string, string]{Config: Config{Rate: 1, Burst: 2}, Prefer: func(_ string, due []string) string {
		if now := during; now != nil {
			during = nil
			now()
		}
		return due[0]
	}})
	for _, key := range []string{"a", "b", "c"} {
		f.Add("p", key, 0)
	}
	taken := 0
	take := func() {
		if item, ok := f.Take(); ok {
			taken++
			item.Forget()
		}
	}
	during = func() { f.step(time.Second); take() }
	take()
	for range 3 {
		take()
	}
	require.Equal(t, 2, taken, "the burst")
	require.Equal(t, time.Second, f.wait())
}

// A token that Take would hand out, because less than a nanosecond is missing, is a whole one when the rate changes, and is
// one.
func TestAChangeOfRateKeepsATokenThatIsThere(t *testing.T) {
	f := queue(t, Config{Rate: 3, Burst: 3})
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		f.Add(key, 0)
	}
	require.Len(t, f.takes(), 3)
	f.step(time.Second / 3) // 0.999999999 tokens
	require.NoError(t, f.SetRate(1))
	require.Len(t, f.takes(), 1)
}

// A bucket whose rate stays hands out when a rate.Limiter of the same rate does, give or take a nanosecond.
func TestABucketIsARateLimiter(t *testing.T) {
	for seed := range uint64(300) {
		c := &seededChoices{state: seed * 15485863}
		perSecond, burst := pick[rate.Limit](c, 1e-6, 0.1, 1.0/3, 0.37, 3.3, 1e3/7, 99999, 1e8, 1e10), pick(c, 1, 3, 100)
		b, now := newBucket(perSecond, burst, 0), int64(0)
		limiter := rate.NewLimiter(perSecond, burst)
		for range 100 {
			next, ok := b.next(now)
			require.True(t, ok)
			for _, now = range []int64{max(now, next-2), next + 2} {
				instant := time.Time{}.Add(time.Duration(now))
				require.Equal(t, b.ready(now), limiter.AllowN(instant, 1), "seed %d, %g by %d at %d", seed, perSecond, burst, now)
				if b.ready(now) {
					b.take(now)
				}
			}
			now += int64(c.below(1<<30)) * pick[int64](c, 0, 1, 1, 1000)
		}
	}
}
