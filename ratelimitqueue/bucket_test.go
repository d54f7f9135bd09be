package ratelimitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever the rate, Take succeeds at Next, and not two nanoseconds before; one is rounding.
func TestTakeSucceedsAtNext(t *testing.T) {
	rates := []float64{1e-6, 0.1, 1.0 / 3, 0.37, 3.3, 1e3 / 7, 99999, 1e8}
	for seed := range uint64(300) {
		c := &seededChoices{state: seed * 104729}
		f := queue(t, Config{Rate: pick(c, rates...), Burst: pick(c, 1, 3)})
		for range 40 {
			f.Add("a", 0)
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
				require.NoError(t, f.SetRate(pick(c, rates...)))
			case 1:
				f.Pause("drill")
				f.step(time.Duration(c.below(1 << 30)))
				f.Resume("drill")
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
	require.Equal(t, time.Second, f.Wait())
}

// A token that Take would hand out, because less than a nanosecond is missing, is a whole one when the rate changes.
func TestAChangeOfRateKeepsATokenThatIsThere(t *testing.T) {
	f := queue(t, Config{Rate: 3, Burst: 3})
	for _, key := range []string{"a", "b", "c", "d"} {
		f.Add(key, 0)
	}
	require.Len(t, f.takes(), 3)
	f.step(time.Second / 3) // 0.999999999 tokens
	require.NoError(t, f.SetRate(1))
	require.Len(t, f.takes(), 1)
}
