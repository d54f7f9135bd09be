package ratelimitqueue

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// usable fails if a lock was left behind, or anything else keeps the queue from working.
func usable(t *testing.T, f *fixture) {
	t.Helper()
	require.True(t, f.table.TryLock(), "it is locked")
	f.table.Unlock()
	f.Clear()
	require.Equal(t, Unknown, f.Add("usable", 1))
	f.step(time.Hour)
	require.Equal(t, []string{"usable"}, f.takes())
	f.Clear()
}

// gone runs f in a goroutine that ends itself.
func gone(f func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	<-over
}

func TestJitterThatPanicsOrEnds(t *testing.T) {
	jitter := func(time.Duration) time.Duration { panic("jitter") }
	panicked := 0
	f := queue(t, Config{
		Rate: 1000, Burst: 10, OnPanic: func(any, any, []byte) { panicked++ },
		Backoff: Backoff{Initial: time.Second, Jitter: func(d time.Duration) time.Duration { return jitter(d) }},
	})
	f.Add("a", 1)
	item, _ := f.Take()
	item.Retry(nil)
	require.Equal(t, 1, panicked)
	f.wantNext(time.Second)
	jitter = func(time.Duration) time.Duration { runtime.Goexit(); return 0 }
	f.step(time.Second)
	item, _ = f.Take()
	gone(func() { item.Retry(nil) })
	require.True(t, item.Held(), "its end was not told")
	item.Forget()
	require.Zero(t, f.Stats().InFlight)
	usable(t, f)
}

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
		"PauseDomain":  func() { g.PauseDomain(bad(), "x") },
		"ResumeDomain": func() { g.ResumeDomain(bad(), "x") },
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
