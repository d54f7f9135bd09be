package ratelimitqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// No argument panics with the lock held, or leaves something behind with which a later call does.
func TestNoArgumentLeavesTheLockHeld(t *testing.T) {
	nan := math.NaN()
	for _, domain := range []any{1.0, nan, struct{ x float64 }{nan}, []int{}} {
		for _, key := range []any{1.0, nan, []int{}} {
			for _, number := range []float64{0, -1, nan, math.Inf(1), float64(rate.Inf), math.SmallestNonzeroFloat64} {
				f, err := NewGroup[any, any, int](GroupConfig[any, any]{Config: Config{Rate: 1}})
				require.NoError(t, err)
				far := time.Duration(math.MaxInt64)
				for _, call := range []func(){
					func() { f.AddEntry(domain, Entry[any, int]{Key: key, Due: time.Unix(math.MaxInt64, 0)}) },
					func() { f.AddEntry(domain, Entry[any, int]{Key: key, Due: time.Unix(math.MinInt64, 0)}) },
					func() { f.Add(domain, key, 1) },
					func() { f.Add("a", key, 1) },
					func() { f.Add("a", "k", 1) },
					func() { f.Move("k", domain) },
					func() { _ = f.SetRate(domain, rate.Limit(number)) },
					func() { f.PauseDomain(domain) },
					func() { f.ResumeDomain(domain) },
					func() { f.Domain(domain) },
					func() { f.Get(key) },
					func() { _, it, _ := f.Take(); it.RetryAfter(far) },
					func() { _, it, _ := f.Take(); it.Blocked(-far) },
					func() { f.ForgetDomain(domain) },
					func() { f.Remove(key) },
					func() { f.Next() },
					f.Clear,
					func() { f.Take() },
				} {
					func() {
						defer func() { _ = recover() }()
						call()
					}()
					require.True(t, f.table.TryLock(), "%v %v %v", domain, key, number)
					f.table.Unlock()
				}
				require.NotPanics(t, func() { f.Take() })
			}
		}
	}
}

// Whether Add or SetRate names a domain first makes no difference to its first token.
func TestADomainBeginsTheSameWhoeverNamesItFirst(t *testing.T) {
	for limit, wait := range map[rate.Limit]time.Duration{0: 10 * time.Second, 1: 0} {
		for _, addFirst := range []bool{true, false} {
			f := group(t, GroupConfig[string, string]{Config: Config{Rate: limit}})
			if addFirst {
				f.Add("rack", "k", 1)
			}
			require.NoError(t, f.SetRate("rack", 0.1))
			f.Add("rack", "k", 1)
			require.Equal(t, wait, f.wait(), "%v %v", limit, addFirst)
		}
	}
}
