package ratelimitqueue

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

func (f *groupFixture) addAll(domain string, keys ...string) {
	for _, key := range keys {
		require.Equal(f.t, Unknown, f.Add(domain, key, 0))
	}
}

func TestEachDomainHasItsRate(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 1}})
	require.NoError(t, f.SetRate("slow", 0.1))
	require.NoError(t, f.SetRate("stopped", 0))
	require.NoError(t, f.SetRate("free", Unlimited))
	for _, domain := range []string{"slow", "stopped", "free", "plain"} {
		f.addAll(domain, domain+"1", domain+"2", domain+"3")
	}
	require.Equal(t, []string{"slow/slow1", "free/free1", "plain/plain1", "free/free2", "free/free3"}, f.takes(), "a full bucket each, in turns")
	f.step(time.Second)
	require.Equal(t, []string{"plain/plain2"}, f.takes())
	f.step(9 * time.Second)
	require.Equal(t, []string{"slow/slow2", "plain/plain3"}, f.takes())
	require.NoError(t, f.SetRate("stopped", 0.5))
	require.Equal(t, 2*time.Second, f.Wait())
	status, ok := f.Domain("stopped")
	require.True(t, ok)
	require.Equal(t, DomainStatus{Rate: 0.5, Waiting: 3, Next: epoch.Add(12 * time.Second)}, status)
	require.ErrorContains(t, f.SetRate("stopped", math.Inf(1)), "rate")
}

// With an order, domains do not take turns, whatever they were created or served in.
func TestDomainsInOrder(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 1}, Compare: strings.Compare})
	f.addAll("b", "b1", "b2", "b3")
	f.addAll("c", "c1")
	f.addAll("a", "a1", "a2")
	require.Equal(t, []string{"a/a1", "b/b1", "c/c1"}, f.takes())
	f.step(time.Second)
	require.Equal(t, []string{"a/a2", "b/b2"}, f.takes())
	f.step(time.Hour) // a and c are forgotten
	f.addAll("c", "c2")
	_, ok := f.Next()
	require.True(t, ok)
	f.addAll("a", "a3")
	require.Equal(t, []string{"a/a3", "b/b3", "c/c2"}, f.takes())

	f = group(t, GroupConfig[string, string]{Config: Config{Rate: Unlimited}, MaxRate: 1, Compare: strings.Compare})
	f.addAll("b", "b1")
	f.addAll("a", "a1", "a2")
	require.Equal(t, []string{"a/a1"}, f.takes())
	f.step(time.Second)
	require.Equal(t, []string{"a/a2"}, f.takes(), "b may get nothing")

	f = group(t, GroupConfig[string, string]{Config: Config{Rate: 1}, Compare: func(string, string) int { panic("compare") }})
	f.addAll("a", "a1")
	require.Panics(t, func() { f.Add("b", "b1", 0) })
	require.Equal(t, []string{"a/a1"}, f.takes(), "nothing is changed, and nothing locked")
}

// A key keeps its place: due time, order among equals, failed tries; also while it is in flight.
func TestMoveKeepsThePlace(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: Unlimited, Burst: 2}})
	require.False(t, f.Move("a", "q"))
	f.addAll("p", "a", "flying", "c")
	f.addAll("q", "b")
	require.True(t, f.Move("a", "q"))
	require.True(t, f.Move("a", "q"))
	first, _ := f.Take()
	require.Equal(t, "p/flying", first.Domain+"/"+first.Key, "the first of its domain now")
	require.True(t, f.Move("flying", "q"))
	require.True(t, first.Held())
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
	require.Equal(t, 6*time.Second, f.Wait(), "its bucket went on filling")
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
	for rate, back := range map[float64]time.Duration{0.1: 10 * time.Second, 0: time.Second} {
		require.NoError(t, f.SetRate("a", 0.1))
		f.addAll("a", "a1", "a2")
		require.Equal(t, []string{"a/a1"}, f.takes())
		require.NoError(t, f.SetRate("a", rate))
		f.PauseDomain("a", "own")
		f.ForgetDomain("a")
		require.Empty(t, f.takes(), "not while it has a key")
		status, _ := f.Domain("a")
		require.Equal(t, rate, status.Rate)
		require.Equal(t, []string{"own"}, status.Paused)
		f.Remove("a2")
		f.step(back)
		f.addAll("a", "a3")
		status, _ = f.Domain("a")
		require.Empty(t, status.Paused)
		if rate > 0 {
			require.Equal(t, rate, status.Rate, "its bucket has just been filled")
		}
		f.Remove("a3")
		f.step(back + 1)
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
	require.Equal(t, 7.0, status.Rate)
}

// A stop or a pause that ends because its domain is forgotten has earned no token, whether or not somebody looked meanwhile.
func TestForgottenStopEarnsNoToken(t *testing.T) {
	for name, forget := range map[string]func(f *groupFixture){
		"forgotten without keys": func(f *groupFixture) { f.Remove("1"); f.step(time.Hour); f.ForgetDomain("a") },
		"with its last key":      func(f *groupFixture) { f.ForgetDomain("a"); f.step(time.Hour); f.Remove("1") },
	} {
		for how, stop := range map[string]func(f *groupFixture){
			"stopped": func(f *groupFixture) { require.NoError(t, f.SetRate("a", 0)) },
			"paused":  func(f *groupFixture) { f.PauseDomain("a", "x") },
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

func TestPauseOfAGroupAndOfADomain(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.5}, MaxRate: 0.5})
	f.addAll("a", "a1", "a2")
	f.addAll("b", "b1")
	f.PauseDomain("a", "own")
	f.PauseDomain("a", "own")
	require.False(t, f.ResumeDomain("a", "other"))
	require.False(t, f.ResumeDomain("unheard of", "own"))
	require.Equal(t, []string{"b/b1"}, f.takes())
	f.Pause("storm")
	f.addAll("c", "c1") // a domain that is made meanwhile is paused too
	f.step(time.Hour)
	require.Empty(t, f.takes())
	_, ok := f.Next()
	require.False(t, ok)
	require.True(t, f.ResumeDomain("a", "own"))
	require.Empty(t, f.takes())
	require.True(t, f.Resume("storm"))
	require.Equal(t, 2*time.Second, f.Wait(), "none accrued for all of them")
	f.step(2 * time.Second)
	require.Equal(t, []string{"a/a1"}, f.takes(), "its turn was before")
}

// The caller chooses which due item of a domain is next. No lock is held then.
func TestPrefer(t *testing.T) {
	var f *groupFixture
	var asked [][]string
	var choice func(due []string) string
	f = group(t, GroupConfig[string, string]{
		Config: Config{Rate: 1, Burst: 20},
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
	} {
		add("1", "2")
		f.AddEntry("a", Entry[string, int]{Key: "9", Due: epoch.Add(time.Hour)})
		choice = bad
		item, ok := f.Take()
		require.True(t, ok, name)
		require.Equal(t, "1", item.Key, name)
		item.Forget()
	}
	require.Equal(t, uint64(1), f.Stats().Panicked)

	add("1", "2")
	choice = func([]string) string { f.Pause("storm"); return "2" }
	require.Empty(t, f.takes())
	f.Resume("storm")
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
			f.PauseDomain("a", "own")
		}
		return due[1]
	}})
	f.addAll("a", "a1", "a2")
	f.addAll("b", "b1", "b2")
	require.Equal(t, []string{"b/b2"}, f.takes())
	require.Equal(t, []string{"a", "b"}, asked)
}

func TestGroupConfig(t *testing.T) {
	require.NoError(t, GroupConfig[string, string]{Config: Config{Rate: 0}, MaxRate: Unlimited}.Validate())
	g, err := NewGroup[string, string, int](GroupConfig[string, string]{Config: Config{Rate: 1}})
	require.NoError(t, err)
	require.Equal(t, []string{}, append([]string{}, g.Paused()...))
}

// A rate so low that the next token never comes does not make the group spin.
func TestTokenThatNeverComes(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: Unlimited}, MaxRate: 1e-12})
	f.addAll("a", "a1", "a2")
	require.Equal(t, []string{"a/a1"}, f.takes())
	_, ok := f.Next()
	require.False(t, ok)
	require.Zero(t, f.Wait())
}

func TestManyOrderedDomainsAreForgottenAtOnce(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: Unlimited}, Compare: strings.Compare})
	for i := range 500 {
		f.addAll(fmt.Sprint(i), fmt.Sprint(i))
	}
	f.Clear()
	f.addAll("1", "1")
	f.step(time.Second)
	require.Equal(t, []string{"1/1"}, f.takes())
	require.Zero(t, f.domains.Len())
}

// An exempt item goes before other due items of its domain, even if nothing is full, and costs the same.
func TestExemptItemsGoFirst(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: 0.1}, MaxInFlight: 9})
	f.addAll("a", "a1", "a2")
	f.AddEntry("a", Entry[string, int]{Key: "later", Exempt: true, Due: epoch.Add(5 * time.Second)})
	require.Equal(t, []string{"a/a1"}, f.takes())
	f.step(10 * time.Second)
	require.Equal(t, []string{"a/later"}, f.takes())
	require.Equal(t, 10*time.Second, f.Wait())
}

func TestAsManyInFlightAsMayBe(t *testing.T) {
	f := group(t, GroupConfig[string, string]{Config: Config{Rate: Unlimited}, MaxInFlight: 2})
	f.addAll("a", "a1", "a2", "a3", "a4")
	one, _ := f.Take()
	two, _ := f.Take()
	require.Empty(t, f.takes())
	_, ok := f.Next()
	require.False(t, ok)
	require.Equal(t, InFlight, f.Remove("a1"))
	require.Empty(t, f.takes(), "its work goes on")

	require.Equal(t, Unknown, f.AddEntry("a", Entry[string, int]{Key: "release", Exempt: true}))
	require.Equal(t, time.Nanosecond, f.Wait())
	three, ok := f.Take()
	require.True(t, ok)
	require.Equal(t, "release", three.Key, "it passes, and does not count")
	require.Equal(t, 3, f.Stats().InFlight)
	one.Forget()
	four, ok := f.Take()
	require.True(t, ok)
	require.Equal(t, "a3", four.Key)
	two.Retry(nil)
	three.Forget()
	four.Forget()

	f.SetMaxInFlight(0)
	f.step(time.Hour)
	require.Empty(t, f.takes())
	f.SetMaxInFlight(-1)
	require.Equal(t, []string{"a/a4", "a/a2"}, f.takes())
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
	f.addAll("c", "c1")
	item.Blocked(time.Hour)
	require.Equal(t, []string{"c/c1"}, f.takes(), "that of all domains also when its work was called off")
	f.step(time.Second)
	_, ok = f.Take()
	require.False(t, ok, "but not that of its domain")
	f.step(time.Second)
	item, ok = f.Take()
	require.True(t, ok)
	item.Blocked(0)
	require.Equal(t, 2*time.Second, f.Wait(), "who is due again at once has spent them")
}
