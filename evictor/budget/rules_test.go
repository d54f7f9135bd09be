package budget

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// fleet has that many members in a pool; the first ones are bad.
func fleet(t *testing.T, total, bad int, bounds ...Bound) *Budget[string, thing] {
	t.Helper()
	b, err := New(things(bounds...))
	require.NoError(t, err)
	for i := range total {
		b.Set(fmt.Sprint(i), thing{pool: "p", zone: "a", weight: 1, counts: true, bad: i < bad, ok: true})
	}
	return b
}

// What others decide, by their published rules, when asked to repair a bad member.
func TestRulesOfOthers(t *testing.T) {
	karpenter := Bound{Name: "karpenter", Per: "pool", Of: Bad, Max: Percent(20).Up()}
	clusterAPI := Bound{Name: "maxUnhealthy", Of: Bad, Max: Percent(40)}
	inRange := Bound{Name: "unhealthyRange", Of: Bad, Min: Count(1), Max: Count(3)}
	for name, row := range map[string]struct {
		bound      Bound
		total, bad int
		may        bool
	}{
		"Karpenter: more":                       {karpenter, 11, 4, false},
		"Karpenter: the only one":               {karpenter, 1, 1, true},
		"Cluster API: rounded down":             {clusterAPI, 4, 1, true},
		"Cluster API: one more":                 {clusterAPI, 4, 2, false},
		"Cluster API: nobody may, of two":       {clusterAPI, 2, 1, false},
		"Cluster API: [1-3]":                    {inRange, 100, 3, true},
		"Cluster API: above the range":          {inRange, 100, 4, false},
		"at most one unavailable, it is":        {Bound{Name: "u", Of: Unavailable, Max: Count(1)}, 3, 1, true},
		"at most one unavailable, two are":      {Bound{Name: "u", Of: Unavailable, Max: Count(1)}, 3, 2, false},
		"at most none at a time":                {Bound{Name: "a", Of: Acting, Max: Count(0)}, 3, 1, false},
		"none where there is a pool":            {Bound{Name: "w", Of: Acting, Max: Count(0), Without: "pool"}, 3, 1, true},
		"a tenth of eleven, rounded up, lately": {Bound{Name: "r", Of: Recent, Max: Percent(10).Up(), Within: time.Hour}, 11, 1, true},
		"a tenth of five, lately":               {Bound{Name: "r", Of: Recent, Max: Percent(10), Within: time.Hour}, 5, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fleet(t, row.total, row.bad, row.bound).Reserve("0")
			require.Equal(t, row.may, err == nil, "%v", err)
			if !row.may {
				var refusal *Refusal
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, row.bound.Name, refusal.Bound)
			}
		})
	}
}

// A window counts members, not actions, and forgets each once it is older than Within.
func TestWindowCountsMembersOnce(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	config := things(Bound{Name: "r", Of: Recent, Max: Count(2), Within: time.Hour})
	config.Clock = clock
	b, err := New(config)
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		b.Set(key, thing{weight: 1, ok: true})
	}
	act := func(key string) error {
		r, err := b.Reserve(key)
		if err == nil {
			require.True(t, r.Commit())
			require.True(t, r.End())
		}
		return err
	}
	require.NoError(t, act("a"))
	clock.Step(10 * time.Minute)
	require.NoError(t, act("a"))
	require.NoError(t, act("a"), "at once")
	require.Len(t, b.Snapshot().Groups[0].Recent, 1)
	require.NoError(t, act("b"))
	err = act("c")
	require.EqualError(t, err, `budget "r" allows at most 2: 3 is too many`)
	require.Equal(t, clockBegin.Add(70*time.Minute), again(t, err))
	next, ok := b.Next()
	require.True(t, ok)
	require.Equal(t, clockBegin.Add(70*time.Minute), next)
	require.NoError(t, act("b"))
	clock.Step(time.Hour)
	require.NoError(t, act("c"))
	_, ok = b.Next()
	require.False(t, ok)
}

// Of two actions on a member that began at one instant, the last that was heard of counts, with the weight that it had then.
func TestAdoptedAtTheInstantOfAnother(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	config := things(Bound{Name: "r", Of: Recent, Max: Count(9), Within: time.Hour})
	config.Clock = clock
	b, err := New(config)
	require.NoError(t, err)
	for _, weight := range []int64{2, 1} {
		b.Set("a", thing{weight: weight, ok: true})
		require.True(t, b.Adopt("a", clockBegin))
		require.True(t, b.End("a"))
		require.Equal(t, []recentSnapshot[string]{{"a", 0, weight}}, b.Snapshot().Groups[0].Recent)
	}
}

// What began before any time that can be counted is not recent.
func TestAdoptedFromTheZeroTime(t *testing.T) {
	b := fleet(t, 1, 0, Bound{Name: "r", Of: Recent, Max: Count(9), Within: time.Hour})
	require.True(t, b.Adopt("0", time.Time{}))
	require.Empty(t, b.Snapshot().Groups)
}

func again(t *testing.T, err error) time.Time {
	t.Helper()
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	return refusal.Again
}

// Groups come and go with their members' labels. A group that remembers nothing leaves nothing behind.
func TestGroupsThatGo(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	config := things(
		Bound{Name: "recent", Per: "zone", Of: Recent, Within: time.Minute, Max: Count(9)},
		Bound{Name: "storm", Per: "zone", Of: Bad, Max: Count(0), Quiet: time.Minute},
		Bound{Name: "trial", Per: "zone", Of: Unproven, Max: Count(9), Within: time.Minute, Quiet: time.Minute, Unjudged: Failed},
	)
	config.Clock = clock
	b, err := New(config)
	require.NoError(t, err)
	for i := range 5000 {
		zone := fmt.Sprint(i)
		b.Set("m", thing{zone: zone, weight: 1, counts: true, ok: true})
		r, err := b.Reserve("m")
		require.NoError(t, err)
		require.True(t, r.Commit())
		require.True(t, r.End())
		b.Set("m", thing{zone: zone, weight: 1, counts: true, bad: true, ok: true})
		require.LessOrEqual(t, len(b.Groups("zone")), 260)
		clock.Step(time.Second)
	}
	require.True(t, b.Remove("m"))
	require.False(t, b.Remove("m"))
	require.Nil(t, b.Groups("nowhere"))
}

// Concurrent reservations never exceed a bound.
func TestNeverExceededByTwo(t *testing.T) {
	b := fleet(t, 64, 32, Bound{Name: "a", Of: Acting, Max: Count(3)}, Bound{Name: "h", Per: "pool", Of: Healthy, Min: Count(20)})
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range 2000 {
				key := fmt.Sprint((worker*31 + i) % 64)
				r, err := b.Reserve(key)
				if err != nil {
					continue
				}
				acting, _ := b.Status("a", "")
				healthy, _ := b.Status("h", "p")
				if acting.Used > 3 || healthy.Used < 20 {
					t.Errorf("%v %v", acting, healthy)
				}
				if i%2 == 0 {
					r.Commit()
					r.End()
				}
				r.GiveBack()
			}
		}()
	}
	wait.Wait()
}

func TestReservations(t *testing.T) {
	b := fleet(t, 2, 1, Bound{Name: "a", Of: Acting, Max: Count(1)})
	var none Reservation[string]
	require.False(t, none.Commit() || none.GiveBack() || none.End())
	_, err := b.Reserve("nobody")
	require.ErrorIs(t, err, ErrUnknown)
	r, err := b.Reserve("0")
	require.NoError(t, err)
	_, err = b.Reserve("0")
	require.ErrorIs(t, err, ErrActing)
	require.False(t, r.End(), "it has not begun")
	require.True(t, r.Commit())
	require.False(t, r.Commit())
	require.False(t, r.GiveBack())
	require.True(t, b.Remove("0"))
	require.False(t, r.End())
	b.Set("0", thing{weight: 1, ok: true})
	again, err := b.Reserve("0")
	require.NoError(t, err)
	require.False(t, r.End(), "it is of another")
	require.True(t, again.GiveBack())
	b.Set("0", thing{weight: 1})
	_, err = b.Reserve("0")
	require.ErrorIs(t, err, ErrNotActionable)
}

// An action that nobody has judged in time has its outcome, even if nobody has looked at its group since and another action on
// the member begins elsewhere.
func TestUnjudgedInAGroupThatItLeft(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	config := things(Bound{Name: "t", Per: "zone", Of: Unproven, Max: Count(9), Within: time.Minute, Unjudged: Proved, Quiet: time.Hour})
	config.Clock = clock
	b, err := New(config)
	require.NoError(t, err)
	b.Set("m", thing{zone: "a", ok: true})
	b.Set("other", thing{zone: "a", ok: true})
	require.True(t, b.Adopt("m", clockBegin))
	require.True(t, b.End("m"))
	b.Set("m", thing{zone: "b", ok: true})
	clock.Step(2 * time.Minute)
	require.True(t, b.Adopt("m", clockBegin))
	st, ok := b.Status("t", "a")
	require.True(t, ok)
	require.Equal(t, Status{Max: 2, Min: -1}, st)
}

// A trial whose Max is 0 is exceeded until the last action is judged.
func TestATrialOfNoneIsExceededForSomeTime(t *testing.T) {
	b := fleet(t, 2, 0, Bound{Name: "t", Of: Unproven, Max: Percent(20), Within: time.Hour, Unjudged: Inconclusive, Quiet: time.Hour})
	b.config.Clock = clocktesting.NewFakeClock(clockBegin)
	require.True(t, b.Adopt("0", clockBegin))
	require.Equal(t, clockBegin.Add(time.Hour), b.Exceeded("0").Again)
	_, err := b.Reserve("1")
	require.Zero(t, again(t, err))
}

// A reservation ends either way. There is room for both: for what it will count, and for the action before it.
func TestAReservationHasRoomForBothOfItsEnds(t *testing.T) {
	b := fleet(t, 2, 0, Bound{Name: "r", Of: Recent, Max: Count(5), Within: time.Hour})
	weigh := func(key string, weight int64) { b.Set(key, thing{weight: weight, ok: true}) }
	weigh("0", 4)
	require.True(t, b.Adopt("0", b.now()))
	require.True(t, b.End("0"))
	weigh("0", 1)
	r, err := b.Reserve("0")
	require.NoError(t, err)
	weigh("1", 3)
	_, err = b.Reserve("1")
	require.EqualError(t, err, `budget "r" allows at most 5: 7 is too many`)
	require.True(t, r.Commit() && r.End())
	r, err = b.Reserve("0")
	require.NoError(t, err)
	weigh("0", 3)
	_, err = b.Reserve("1")
	require.EqualError(t, err, `budget "r" allows at most 5: 6 is too many`, "what Commit will count")
	require.True(t, r.GiveBack())
	_, err = b.Reserve("1")
	require.NoError(t, err)
}

// The outcome of an action outside all groups says nothing about the one before it, which was in a group.
func TestAnActionOutsideAllGroupsReplacesTheLast(t *testing.T) {
	b := fleet(t, 1, 0, Bound{Name: "t", Per: "zone", Of: Unproven, Max: Count(9), Within: time.Hour, Unjudged: Failed, Quiet: time.Hour})
	require.True(t, b.Adopt("0", b.now()))
	require.True(t, b.End("0"))
	b.Set("0", thing{pool: "p", weight: 1, ok: true})
	require.True(t, b.Adopt("0", b.now()))
	require.False(t, b.Judge("0", Proved))
	require.Empty(t, b.Snapshot().Groups)
}

// A reservation that refused others keeps them out for some time once its action has begun, and Next says for how long.
func TestNextAfterAReservationThatRefused(t *testing.T) {
	for of, bound := range map[Quantity]Bound{
		Recent:   {Name: "r", Of: Recent, Max: Count(1), Within: time.Hour},
		Unproven: {Name: "t", Of: Unproven, Max: Count(9), Within: time.Hour, Unjudged: Inconclusive, Quiet: time.Hour},
		Healthy:  {Name: "h", Of: Healthy, Max: Count(1), Quiet: time.Hour},
	} {
		clock := clocktesting.NewFakeClock(clockBegin)
		config := things(bound)
		config.Clock = clock
		b, err := New(config)
		require.NoError(t, err)
		b.Set("a", thing{weight: 1, counts: true, ok: true})
		r, err := b.Reserve("a")
		require.NoError(t, err)
		b.Set("b", thing{weight: 1, counts: true, ok: true})
		_, err = b.Reserve("b")
		require.Zero(t, again(t, err), of)
		_, ok := b.Next()
		require.False(t, ok, of)
		require.True(t, r.Commit())
		next, ok := b.Next()
		require.True(t, ok, of)
		require.Equal(t, clockBegin.Add(time.Hour), next, of)
		clock.SetTime(next)
		_, err = b.Reserve("b")
		require.NoError(t, err, of)
	}
}

// A failure that a shorter Within finds in the past does not shorten the cooldown after a later one.
func TestARestoredCooldownIsNotShortened(t *testing.T) {
	b := fleet(t, 0, 0, Bound{Name: "t", Of: Unproven, Max: Count(9), Within: time.Minute, Unjudged: Failed, Cooldown: time.Minute, Quiet: time.Hour})
	b.config.Clock = clocktesting.NewFakeClock(clockBegin)
	s := Snapshot[string]{Version: SnapshotVersion, Groups: []groupSnapshot[string]{{
		Bound: "t", Recent: []recentSnapshot[string]{{"a", 90 * time.Second, 1}}, Failures: 1, Cooldown: 50 * time.Second,
	}}}
	require.NoError(t, b.Restore(s))
	got := b.Snapshot().Groups[0]
	require.Equal(t, 2, got.Failures)
	require.Equal(t, 50*time.Second, got.Cooldown)
}
