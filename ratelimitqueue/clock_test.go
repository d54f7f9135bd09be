package ratelimitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// whoHandsOut returns a queue and a group on that clock.
func whoHandsOut(t *testing.T, c *clockcases.Clock, s setup) []*subject {
	var both []*subject
	for _, isQueue := range []bool{true, false} {
		s.queue = isQueue
		sub := s.make(t, c.Now(), true)
		sub.clk = c
		sub.core().table.Clock = c
		both = append(both, sub)
	}
	return both
}

// With monotonic readings, setting the wall clock changes no due time and makes no tokens. Without them, going forward
// is time passed, and going back is no time passed.
func TestTheWallClockIsSet(t *testing.T) {
	for _, one := range clockcases.Cases() {
		t.Run(one.String(), func(t *testing.T) {
			for i := range 2 {
				c := one.Clock()
				q := whoHandsOut(t, c, setup{rate: 0.1, burst: 1})[i]
				entry := func(key string, due time.Time) Entry[string, int] { return Entry[string, int]{Key: key, Due: due} }
				q.add("p", entry("first", time.Time{}))
				_, ok := q.take()
				require.True(t, ok)
				q.add("p", entry("read", c.Now().Add(4*time.Second)))
				q.add("p", entry("written", c.Wall().Add(5*time.Second))) // as an API object contains it
				c.Pass(time.Second)
				wait := func() time.Duration {
					next, ok := q.core().Next()
					require.True(t, ok)
					return max(next.Sub(c.Now()), 0)
				}
				require.Equal(t, 9*time.Second, wait(), "for the token")
				c.Set(one.Set)
				want := max(9*time.Second-one.Counts(), 0)
				require.Equal(t, want, wait())
				_, st, _ := q.get("read")
				require.Equal(t, 3*time.Second-one.Counts(), st.Due.Sub(c.Now()))
				q.add("p", entry("now written", c.Wall().Add(20*time.Second)))
				_, st, _ = q.get("now written")
				require.Equal(t, 20*time.Second, st.Due.Sub(c.Now()), "by the wall as it is now")
				if want > 0 {
					c.Pass(want - time.Millisecond)
					_, ok = q.take()
					require.False(t, ok)
					c.Pass(time.Millisecond)
				}
				item, ok := q.take()
				require.True(t, ok)
				require.Equal(t, "read", item.Key)
				item.RetryAfter(time.Minute)
				c.Pass(10 * time.Second)
				item, ok = q.take()
				require.True(t, ok)
				require.Equal(t, "written", item.Key)
			}
		})
	}
}
