package ratelimitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func limiter(t *testing.T, config Config) (*Limiter[string], func(time.Duration)) {
	clk := testingclock.NewFakePassiveClock(epoch)
	config.Clock = clk
	l, err := NewLimiter[string](config)
	require.NoError(t, err)
	return l, func(d time.Duration) { clk.SetTime(clk.Now().Add(d)) }
}

func TestLimiterLetsNoMoreGoThanTheRate(t *testing.T) {
	l, step := limiter(t, Config{Rate: 0.5, Burst: 2})
	require.Zero(t, l.When("a"))
	require.Zero(t, l.When("b"))
	require.Equal(t, 2*time.Second, l.When("c"))
	require.Equal(t, 4*time.Second, l.When("d"))
	require.Equal(t, 10*time.Second, func() (wait time.Duration) {
		for _, item := range []string{"e", "f", "g", "h"} {
			wait = l.When(item)
		}
		return wait
	}(), "at most")
	step(3 * time.Second)
	require.Equal(t, time.Second, l.When("d"), "it keeps its place")
	require.Equal(t, 1, l.NumRequeues("c"))
	require.Equal(t, 2, l.NumRequeues("d"))
	require.Zero(t, l.When("c"), "its token waited for it")
	require.Zero(t, l.NumRequeues("c"))
	require.Equal(t, 10*time.Second, l.When("c"), "again, behind the others")
	l.Forget("e")
	l.Forget("nobody")
	step(time.Second)
	require.Zero(t, l.When("d"))
	require.Equal(t, 2*time.Second, l.When("f"), "who leaves the line leaves his place to the next")
}

func TestLimiterWhoseRateChanges(t *testing.T) {
	l, step := limiter(t, Config{Rate: Stopped})
	require.Equal(t, 10*time.Second, l.When("a"), "it says when to ask again")
	step(time.Hour)
	require.Equal(t, 10*time.Second, l.When("a"))
	require.NoError(t, l.SetRate(1))
	require.Equal(t, time.Second, l.When("a"))
	require.Equal(t, 2*time.Second, l.When("b"))
	step(time.Second)
	require.NoError(t, l.SetRate(0))
	require.Zero(t, l.When("a"), "its token had come")
	require.Equal(t, 10*time.Second, l.When("b"), "and this one's had not")
	require.NoError(t, l.SetRate(4))
	require.Equal(t, 4.0, l.Rate())
	step(250 * time.Millisecond)
	require.Zero(t, l.When("b"))
	require.NoError(t, l.SetRate(Unlimited))
	require.Zero(t, l.When("b"))
}

// Whatever is asked, and forgotten, and set: in no interval go more than the highest rate allows, and who goes on asking
// goes.
func TestLimiterUnderRandomOperations(t *testing.T) {
	for seed := range uint64(max(*operationsFlag/1000, 1)) {
		c := &seededChoices{state: seed*7919 + 1, left: 1000}
		burst := pick(c, 1, 3)
		l, step := limiter(t, Config{Rate: 1, Burst: burst})
		now, spent, allowed := time.Duration(0), 0, float64(burst)
		for c.more() {
			switch item := pick(c, keyNames...); c.below(8) {
			case 0:
				l.Forget(item)
			case 1:
				require.NoError(t, l.SetRate(pick(c, 0, 0.25, 1, 4)))
			case 2, 3:
				d := time.Duration(1+c.below(20)) * 125 * time.Millisecond
				step(d)
				now += d
				allowed += l.Rate() * d.Seconds()
			default:
				wait := l.When(item)
				require.LessOrEqual(t, wait, askAgain)
				if wait == 0 {
					spent++
				}
				require.LessOrEqual(t, float64(spent), allowed+1e-6, "seed %d at %s", seed, now)
			}
		}
		require.NoError(t, l.SetRate(1))
		for _, item := range keyNames {
			for wait := l.When(item); wait > 0; wait = l.When(item) {
				step(wait)
				now += wait
				require.Less(t, now, time.Hour)
			}
		}
		require.Zero(t, l.tickets.Len()+len(l.gone))
	}
}
