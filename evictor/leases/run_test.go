//go:build go1.25

package leases_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor/leases"
)

// setBack is a clock with timers whose wall clock is set back during the first reading.
type setBack struct {
	clock.RealClock
	back time.Duration
}

func (c *setBack) Now() time.Time                        { return c.RealClock.Now().Round(0).Add(-c.back) }
func (c *setBack) Since(earlier time.Time) time.Duration { return c.Now().Sub(earlier) }

func TestAClockThatIsSetBackStopsNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk, n := &setBack{}, 0
		ctx, stop := context.WithCancel(t.Context())
		r := &leases.Reader{Clock: clk, Judge: rounds(func() ([]string, time.Time) {
			n++
			return []string{"a"}, clk.Now().Add(5 * time.Second)
		}), Read: func(context.Context, string) (leases.Lease, error) {
			clk.back = time.Hour
			return leases.Lease{}, nil
		}}
		go r.Run(ctx)
		time.Sleep(59 * time.Second)
		stop()
		synctest.Wait()
		require.Equal(t, 12, n)
	})
}

// Without a clock the real one counts, with timers.
func TestNoClockIsTheRealOne(t *testing.T) {
	var none *testingclock.FakeClock
	for _, clk := range []clock.PassiveClock{nil, none} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			ctx, stop := context.WithTimeout(t.Context(), 59*time.Second)
			defer stop()
			r := &leases.Reader{Clock: clk, Judge: rounds(func() ([]string, time.Time) {
				n++
				return nil, time.Now().Add(5 * time.Second)
			})}
			require.NoError(t, r.Run(ctx))
			require.Equal(t, 12, n)
		})
	}
}

// rounds is a Judge that hears no answers.
type rounds func() (nodes []string, next time.Time)

func (r rounds) Silent() ([]string, time.Time)            { return r() }
func (rounds) LeaseRead(string, time.Time, string, error) {}
func (rounds) SetLeaseHealth(error)                       {}
