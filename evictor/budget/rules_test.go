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

// A program that asks again exactly at Next, and is refused for longer, hears of the new instant.
func TestNextAfterAskingExactlyThen(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	b, err := New(Config[string, int]{Clock: clk, Bounds: []Bound{{Name: "recent", Of: Recent, Max: Count(2), Within: 10 * time.Minute}}, Weight: func(w int) int64 { return int64(w) }})
	require.NoError(t, err)
	act := func(key string) {
		b.Set(key, 1)
		_, err := b.Reserve(key)
		require.NoError(t, err)
		require.True(t, b.Adopt(key, clk.Now()))
		b.End(key)
	}
	begun := clk.Now()
	act("a")
	clk.SetTime(begun.Add(4 * time.Minute))
	act("b")
	b.Set("heavy", 2) // needs both to be over
	_, err = b.Reserve("heavy")
	require.Error(t, err)
	next, ok := b.Next()
	require.True(t, ok)
	require.Equal(t, begun.Add(10*time.Minute), next)
	clk.SetTime(next)
	_, err = b.Reserve("heavy")
	require.Error(t, err)
	next, ok = b.Next()
	require.True(t, ok, "the second is over later")
	require.Equal(t, begun.Add(14*time.Minute), next)
	clk.SetTime(next)
	_, err = b.Reserve("heavy")
	require.NoError(t, err)
}
