package ratelimitqueue

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	testingclock "k8s.io/utils/clock/testing"
)

type groupFixture struct {
	*Group[string, string, int]
	clk *testingclock.FakePassiveClock
	t   testing.TB
}

// groupItem is an item with the domain whose turn it was.
type groupItem struct {
	Domain string
	Item[string, int]
}

func (f *groupFixture) Take() (it groupItem, ok bool) {
	it.Domain, it.Item, ok = f.Group.Take()
	return it, ok
}

// Get returns the domain and the state of a key.
func (f *groupFixture) Get(key string) (domain string, state State) {
	domain, st, _ := f.Group.Get(key)
	return domain, st.State
}

func group(t testing.TB, config GroupConfig[string, string]) *groupFixture {
	clk := testingclock.NewFakePassiveClock(epoch)
	config.Clock = clk
	g, err := NewGroup[string, string, int](config)
	require.NoError(t, err)
	return &groupFixture{g, clk, t}
}

func (f *groupFixture) step(d time.Duration) { f.clk.SetTime(f.clk.Now().Add(d)) }

// takes hands out everything that it can now, and returns the domain and key of each.
func (f *groupFixture) takes() (keys []string) {
	for item, ok := f.Take(); ok; item, ok = f.Take() {
		keys = append(keys, item.Domain+"/"+item.Key)
		item.Forget()
	}
	return keys
}

// wait is how long it is until Next.
func (f *groupFixture) wait() time.Duration {
	f.t.Helper()
	next, ok := f.Next()
	require.True(f.t, ok)
	return next.Sub(f.clk.Now())
}

func (f *groupFixture) addAll(domain string, keys ...string) {
	for _, key := range keys {
		require.Equal(f.t, Unknown, f.Add(domain, key, 0))
	}
}

func TestEachDomainHasItsRate(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 1}})
	require.NoError(t, f.SetRate("slow", 0.1))
	require.NoError(t, f.SetRate("stopped", 0))
	require.NoError(t, f.SetRate("free", rate.Inf))
	for _, domain := range []string{"slow", "stopped", "free", "plain"} {
		f.addAll(domain, domain+"1", domain+"2", domain+"3")
	}
	require.Equal(t, []string{"slow/slow1", "free/free1", "plain/plain1", "free/free2", "free/free3"}, f.takes(), "a full bucket each, in turns")
	f.step(time.Second)
	require.Equal(t, []string{"plain/plain2"}, f.takes())
	f.step(9 * time.Second)
	require.Equal(t, []string{"slow/slow2", "plain/plain3"}, f.takes())
	require.NoError(t, f.SetRate("stopped", 0.5))
	require.Equal(t, 2*time.Second, f.wait())
	status, ok := f.Domain("stopped")
	require.True(t, ok)
	require.Equal(t, DomainStatus{Rate: 0.5, Waiting: 3, Next: epoch.Add(12 * time.Second)}, status)
	require.ErrorContains(t, f.SetRate("stopped", rate.Limit(math.Inf(1))), "rate")
}

// A key keeps its place: due time, order among equals, failed tries; also while it is in flight.
func TestMoveKeepsThePlace(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: rate.Inf, Burst: 2}})
	require.False(t, f.Move("a", "q"))
	f.addAll("p", "a", "flying", "c")
	f.addAll("q", "b")
	require.True(t, f.Move("a", "q"))
	require.True(t, f.Move("a", "q"))
	first, _ := f.Take()
	require.Equal(t, "p/flying", first.Domain+"/"+first.Key, "the first of its domain now")
	require.True(t, f.Move("flying", "q"))
	domain, state := f.Get("flying")
	require.Equal(t, "q", domain)
	require.Equal(t, InFlight, state)
	first.Blocked(0)
	require.True(t, f.Move("c", "q"))
	require.Equal(t, []string{"q/a", "q/flying", "q/c", "q/b"}, f.takes(), "as they came")
	f.addAll("p", "kept")
	item, _ := f.Take()
	item.Done()
	require.True(t, f.Move("kept", "q"))
	require.Equal(t, Finished, f.Add("p", "kept", 0))
	domain, _ = f.Get("kept")
	require.Equal(t, "q", domain, "adding moves nothing")
	_, state = f.Get("gone")
	require.Equal(t, Unknown, state)
}

// A domain that empties and fills again gains no token, and an empty one is forgotten.
func TestEmptiedDomainEarnsNoToken(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.1}})
	f.addAll("a", "a1", "a2")
	require.Equal(t, []string{"a/a1"}, f.takes())
	f.Remove("a2")
	f.step(4 * time.Second)
	f.addAll("a", "a3")
	require.Empty(t, f.takes())
	require.Equal(t, 6*time.Second, f.wait(), "its bucket went on filling")
	f.Move("a3", "b")
	require.Equal(t, []string{"b/a3"}, f.takes())
	f.step(time.Minute)
	f.addAll("c", "c1")
	require.Equal(t, 1, f.domains.Len(), "a and b are forgotten")
	_, ok := f.Domain("a")
	require.False(t, ok)
}

func TestManyDomainsComeAndGo(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 1}})
	for n := range 10_000 {
		domain := fmt.Sprint("domain-", n)
		f.addAll(domain, "a", "b")
		require.Len(t, f.takes(), 1)
		f.Clear()
		f.step(100 * time.Millisecond)
		require.LessOrEqual(t, f.domains.Len(), 12)
	}
}

// What was set for a domain stays until ForgetDomain, and its bucket until that is full.
func TestForgetDomain(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 1}})
	f.ForgetDomain("unheard of")
	for limit, back := range map[rate.Limit]time.Duration{0.1: 10 * time.Second, 0: time.Second} {
		require.NoError(t, f.SetRate("a", 0.1))
		f.addAll("a", "a1", "a2")
		require.Equal(t, []string{"a/a1"}, f.takes())
		require.NoError(t, f.SetRate("a", limit))
		f.PauseDomain("a")
		f.ForgetDomain("a")
		require.Empty(t, f.takes(), "not while it has a key")
		status, _ := f.Domain("a")
		require.Equal(t, limit, status.Rate)
		require.Zero(t, status.Next, "it is paused")
		f.Remove("a2")
		f.step(back - 1)
		f.addAll("a", "a3")
		status, _ = f.Domain("a")
		require.NotZero(t, status.Next, "not paused any more")
		if limit > 0 {
			require.Equal(t, limit, status.Rate, "its bucket is not full")
		}
		f.Remove("a3")
		f.step(back)
		f.addAll("b", "b1")
		_, ok := f.Domain("a")
		require.False(t, ok)
		f.Remove("b1")
		f.step(time.Hour)
	}
	require.NoError(t, f.SetRate("a", 5))
	f.ForgetDomain("a")
	require.NoError(t, f.SetRate("a", 7))
	f.step(time.Hour)
	f.addAll("b", "b1")
	status, ok := f.Domain("a")
	require.True(t, ok, "it was set anew")
	require.Equal(t, rate.Limit(7), status.Rate)
}

// A stop or a pause that ends because its domain is forgotten has earned no token, whether or not somebody looked meanwhile.
func TestForgottenStopEarnsNoToken(t *testing.T) {
	for name, forget := range map[string]func(f *groupFixture){
		"forgotten without keys": func(f *groupFixture) { f.Remove("1"); f.step(time.Hour); f.ForgetDomain("a") },
		"with its last key":      func(f *groupFixture) { f.ForgetDomain("a"); f.step(time.Hour); f.Remove("1") },
	} {
		for how, stop := range map[string]func(f *groupFixture){
			"stopped": func(f *groupFixture) { require.NoError(t, f.SetRate("a", 0)) },
			"paused":  func(f *groupFixture) { f.PauseDomain("a") },
		} {
			f := group(t, GroupConfig[string, string]{Config: Config{Rate: 1}})
			f.addAll("a", "0")
			require.Len(t, f.takes(), 1)
			f.addAll("a", "1")
			stop(f)
			forget(f)
			f.addAll("a", "2")
			require.Empty(t, f.takes(), "%s, %s", how, name)
		}
	}
}

func TestPauseOfADomain(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.5}, MaxRate: 0.5})
	f.addAll("a", "a1", "a2")
	f.addAll("b", "b1")
	f.PauseDomain("a")
	f.PauseDomain("a")
	f.ResumeDomain("unheard of")
	require.Equal(t, []string{"b/b1"}, f.takes())
	f.step(time.Hour)
	require.Empty(t, f.takes())
	_, ok := f.Next()
	require.False(t, ok)
	f.ResumeDomain("a")
	f.ResumeDomain("a")
	require.Equal(t, []string{"a/a1"}, f.takes(), "it kept its token")
	require.Equal(t, 2*time.Second, f.wait(), "and gained none")
}

func TestPausesInARowStopNoTokens(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.1}})
	f.addAll("a", "a1", "a2")
	require.Equal(t, []string{"a/a1"}, f.takes())
	for range 20 {
		f.step(5 * time.Second)
		f.PauseDomain("a")
		f.ResumeDomain("a")
	}
	require.Equal(t, []string{"a/a2"}, f.takes())
}

// The caller chooses which due item of a domain is next. No lock is held then.
func TestPrefer(t *testing.T) {
	var f *groupFixture
	var asked [][]string
	var choice func(due []string) string
	panicked := 0
	f = group(t, GroupConfig[string, string]{
		Config: Config{Rate: 1, Burst: 20},
		OnPanic: func(key, value any, _ []byte) {
			require.Equal(t, []any{"1", "prefer"}, []any{key, value})
			panicked++
		},
		Prefer: func(domain string, due []string) string {
			require.Equal(t, "a", domain)
			asked = append(asked, due)
			return choice(due)
		},
	})
	add := func(keys ...string) { f.Clear(); f.addAll("a", keys...) }
	add("1", "2", "3")
	f.AddEntry("a", Entry[string, int]{Key: "9", Due: epoch.Add(time.Hour)})
	choice = slices.Max[[]string]
	require.Equal(t, []string{"a/3", "a/2", "a/1"}, f.takes())
	require.Equal(t, [][]string{{"1", "2", "3"}, {"1", "2"}}, asked, "not where there is no choice")

	for name, bad := range map[string]func([]string) string{
		"not due":       func([]string) string { return "9" },
		"unknown":       func([]string) string { return "nobody" },
		"panics":        func([]string) string { panic("prefer") },
		"gone meantime": func([]string) string { f.Remove("2"); return "2" },
		"moved":         func([]string) string { f.Move("2", "b"); return "2" },
		"taken meanwhile": func([]string) string {
			choice = slices.Max[[]string]
			item, _ := f.Take()
			require.Equal(t, "2", item.Key)
			item.Done()
			return "2"
		},
	} {
		add("1", "2")
		f.AddEntry("a", Entry[string, int]{Key: "9", Due: epoch.Add(time.Hour)})
		choice = bad
		item, ok := f.Take()
		require.True(t, ok, name)
		require.Equal(t, "1", item.Key, name)
		item.Forget()
	}
	require.Equal(t, 1, panicked)

	add("1", "2")
	choice = func([]string) string { f.PauseDomain("a"); return "2" }
	require.Empty(t, f.takes())
	f.ResumeDomain("a")
	choice = func([]string) string {
		f.AddEntry("a", Entry[string, int]{Key: "0", Exempt: true})
		return "2"
	}
	require.Equal(t, "a/0", f.takes()[0], "an exempt one that came meanwhile goes first")
}

// While the user chooses in one domain, the turn may pass to another one.
func TestPreferThatChangesWhoseTurnItIs(t *testing.T) {
	var f *groupFixture
	var asked []string
	f = group(t, GroupConfig[string, string]{Config: Config{Rate: 1}, Prefer: func(domain string, due []string) string {
		if asked = append(asked, domain); len(asked) == 1 {
			f.PauseDomain("a")
		}
		return due[1]
	}})
	f.addAll("a", "a1", "a2")
	f.addAll("b", "b1", "b2")
	require.Equal(t, []string{"b/b2"}, f.takes())
	require.Equal(t, []string{"a", "b"}, asked)
}

// A rate so low that the next token never comes does not make the group spin.
func TestTokenThatNeverComes(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: rate.Inf}, MaxRate: 1e-12})
	f.addAll("a", "a1", "a2")
	require.Equal(t, []string{"a/a1"}, f.takes())
	_, ok := f.Next()
	require.False(t, ok)
}

// An exempt item goes before other due items of its domain, and costs the same.
func TestExemptItemsGoFirst(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.1}})
	f.addAll("a", "a1", "a2")
	f.AddEntry("a", Entry[string, int]{Key: "later", Exempt: true, Due: epoch.Add(5 * time.Second)})
	require.Equal(t, []string{"a/a1"}, f.takes())
	f.step(10 * time.Second)
	require.Equal(t, []string{"a/later"}, f.takes())
	require.Equal(t, 10*time.Second, f.wait())
}

// A holder that may not act yet costs nobody anything.
func TestTokensOfWhatWasBlocked(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.5}, MaxRate: 1})
	f.addAll("a", "a1", "a2")
	f.addAll("b", "b1")
	item, ok := f.Take()
	require.True(t, ok)
	item.Blocked(time.Hour)
	item.Blocked(time.Hour) // it counts once
	require.Equal(t, []string{"b/b1"}, f.takes())
	f.step(time.Second)
	require.Equal(t, []string{"a/a2"}, f.takes(), "the next in line of its domain")
	f.step(2 * time.Second)
	f.addAll("a", "a3", "a4")
	item, ok = f.Take()
	require.True(t, ok)
	f.Remove("a3")
	item.Blocked(time.Hour)
	require.Equal(t, []string{"a/a4"}, f.takes(), "also when its work was called off")
	f.addAll("a", "a5")
	f.step(2 * time.Second)
	item, ok = f.Take()
	require.True(t, ok)
	item.Blocked(0)
	require.Equal(t, 2*time.Second, f.wait(), "who is due again at once has spent them")
}
