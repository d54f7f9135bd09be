package ratelimitqueue

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// With -race, each method without the lock fails. At no time has a key two holders.
func TestAllMethodsSideBySide(t *testing.T) {
	config := Config{Rate: 10, Burst: 10}
	q := queue(t, config)
	g := group(t, GroupConfig[string, string]{Config: config, MaxRate: 20, Prefer: func(_ string, due []string) string { return due[0] }})
	var held, taken [5]atomic.Int32
	hold := func(item Item[string, int], ok bool) {
		if !ok {
			return
		}
		if n := held[item.Value].Add(1); n != 1 {
			t.Errorf("%s has %d holders", item.Key, n)
		}
		held[item.Value].Add(-1)
		switch taken[item.Value].Add(1) % 4 {
		case 0:
			item.Done()
		case 1:
			item.Forget()
		case 2:
			item.RetryAfter(time.Second)
		default:
			item.Blocked(time.Second)
		}
	}
	sixTimes(func() {
		for i := range 500 {
			n := i % len(held)
			key, domain := fmt.Sprint("k", n), fmt.Sprint("d", i%3)
			q.Add(key, n)
			hold(q.Take())
			q.SetRate(rate.Limit(10 + i%2))
			q.Get(key)
			q.Next()
			q.Len()
			q.Waiting()
			g.Add(domain, key, n)
			item, ok := g.Take()
			hold(item.Item, ok)
			g.SetRate(domain, rate.Limit(10+i%2))
			g.Move(key, fmt.Sprint("d", i%2))
			g.PauseDomain(domain)
			g.ResumeDomain(domain)
			g.ForgetDomain(domain)
			g.Get(key)
			g.Domain(domain)
			g.Next()
			g.step(time.Second / 7)
			if i%9 == 0 {
				q.Remove(key)
				g.Remove(key)
			}
			if i%50 == 0 {
				q.Clear()
				g.Clear()
			}
		}
	})
	q.Clear()
	g.Clear()
	require.Zero(t, q.Len()+g.Len())
}
