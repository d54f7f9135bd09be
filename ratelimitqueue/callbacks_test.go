package ratelimitqueue

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// usable fails if a lock was left behind, or anything else keeps the queue from working.
func usable(t *testing.T, f *fixture) {
	t.Helper()
	require.True(t, f.mu.TryLock(), "it is locked")
	f.mu.Unlock()
	f.Clear()
	require.Equal(t, Added, f.Add("usable", 1))
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
	require.True(t, item.Retry().Held)
	require.Equal(t, 1, panicked)
	f.wantNext(time.Second)
	jitter = func(time.Duration) time.Duration { runtime.Goexit(); return 0 }
	f.step(time.Second)
	item, _ = f.Take()
	gone(func() { item.Retry() })
	require.True(t, item.Held(), "its end was not told")
	require.True(t, item.Done().Held)
	usable(t, f)
}

func TestErrorsAreSeen(t *testing.T) {
	var told []string
	panics := false
	var inPanic any
	f := queue(t, Config{
		Rate: 1000, Burst: 10,
		OnError: func(key any, err error) {
			told = append(told, key.(string)+": "+err.Error())
			if panics {
				panic("OnError")
			}
		},
		OnPanic: func(_, value any, _ []byte) { inPanic = value; panic("OnPanic") },
	})
	f.Add("a", 1)
	item, _ := f.Take()
	f.step(time.Second)
	require.True(t, item.Fail(errors.New("no route")).Held)
	st, _ := f.Get("a")
	require.EqualError(t, st.LastError, "no route")
	require.Equal(t, 1, st.Attempts)
	require.EqualError(t, f.Stats().LastError, "no route")
	require.Equal(t, epoch.Add(time.Second), f.Stats().LastErrorAt)
	panics = true
	f.step(time.Second)
	item, _ = f.Take()
	require.True(t, item.Fail(Final(errors.New("gone for good"))).Held, "though OnError and OnPanic panic")
	require.Equal(t, "OnError", inPanic)
	_, known := f.Get("a")
	require.False(t, known, "an error that trying again cannot mend drops it")
	panics = false
	f.Add("b", 1)
	item, _ = f.Take()
	f.Remove("b")
	require.Equal(t, Ended{}, item.Fail(errors.New("called off")))
	require.Equal(t, Ended{}, item.Fail(errors.New("said twice")))
	f.Add("c", 1)
	item, _ = f.Take()
	require.True(t, item.Fail(nil).Held)
	require.Equal(t, []string{"a: no route", "a: gone for good", "b: called off"}, told)
	require.Equal(t, Stats{
		Added: 3, HandedOut: 4, Done: 1, Dropped: 1, Retried: 1, Panicked: 2,
		LastLateness: 0, MaxLateness: 900 * time.Millisecond,
		LastError: f.Stats().LastError, LastErrorAt: epoch.Add(2 * time.Second),
	}, f.Stats())
	require.EqualError(t, f.Stats().LastError, "called off")
	usable(t, f)
}

// A key that cannot be hashed panics in its caller, and affects nothing else.
func TestKeyThatCannotBeHashed(t *testing.T) {
	bad := func() any { return []int{1} }
	q, err := New[any, int](Config{Rate: 1, Burst: 5})
	require.NoError(t, err)
	g, err := NewGroup[any, any, int](GroupConfig[any, any]{Rate: 1, Burst: 5})
	require.NoError(t, err)
	q.Add("a", 1)
	g.Add("p", "a", 1)
	for name, call := range map[string]func(){
		"Add":          func() { q.Add(bad(), 1) },
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
		require.True(t, q.mu.TryLock(), name)
		q.mu.Unlock()
		require.True(t, g.mu.TryLock(), name)
		g.mu.Unlock()
		require.Equal(t, 1, q.records.Len()+q.Len()-1, name)
		require.Equal(t, 1, g.records.Len()+g.Len()-1, name)
	}
	g.Add("p", "c", 1)
	require.Equal(t, 1, g.domains.Len(), "the domain that was made in vain is forgotten")
	_, ok := q.Take()
	require.True(t, ok)
	item, ok := g.Take()
	require.True(t, ok)
	require.Equal(t, "p", item.Domain)
}
