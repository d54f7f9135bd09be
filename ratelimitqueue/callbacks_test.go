package ratelimitqueue

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A key that cannot be hashed, or does not equal itself, panics in its caller, and affects nothing else.
func TestKeyThatCannotBe(t *testing.T) {
	bad := func() any { return []int{1} }
	q, err := New[any, int](Config{Rate: 1, Burst: 5})
	require.NoError(t, err)
	g, err := NewGroup[any, any, int](GroupConfig[any, any]{Config: Config{Rate: 1, Burst: 5}})
	require.NoError(t, err)
	q.Add("a", 1)
	g.Add("p", "a", 1)
	for name, call := range map[string]func(){
		"Add":          func() { q.Add(bad(), 1) },
		"Add NaN":      func() { q.Add(math.NaN(), 1) },
		"group NaN":    func() { g.Add("new", math.NaN(), 1) },
		"Remove":       func() { q.Remove(bad()) },
		"Get":          func() { q.Get(bad()) },
		"group Add":    func() { g.Add("new", bad(), 1) },
		"group domain": func() { g.Add(bad(), "b", 1) },
		"Move":         func() { g.Move(bad(), "p") },
		"Move to":      func() { g.Move("a", bad()) },
		"SetRate":      func() { _ = g.SetRate(bad(), 1) },
		"PauseDomain":  func() { g.PauseDomain(bad()) },
		"ResumeDomain": func() { g.ResumeDomain(bad()) },
		"ForgetDomain": func() { g.ForgetDomain(bad()) },
		"Domain":       func() { g.Domain(bad()) },
	} {
		require.Panics(t, call, name)
		require.True(t, q.table.TryLock(), name)
		q.table.Unlock()
		require.True(t, g.table.TryLock(), name)
		g.table.Unlock()
		require.Equal(t, 1, q.Len(), name)
		require.Equal(t, 1, g.Len(), name)
	}
	g.Add("p", "c", 1)
	require.Equal(t, 1, g.domains.Len(), "the domain that was made in vain is forgotten")
	_, ok := q.Take()
	require.True(t, ok)
	domain, _, ok := g.Take()
	require.True(t, ok)
	require.Equal(t, "p", domain)
}
