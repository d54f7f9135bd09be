package budget

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// A reservation of a member that a breaker is not asked about makes more unavailable than the breaker allows. Given back,
// it has not shut the breaker; committed, it does.
func TestAReservationShutsNoBreaker(t *testing.T) {
	b := fleet(t, 2, 0, Bound{Name: "storm", Of: Unavailable, Max: Count(0), Quiet: time.Minute, Without: "pool"})
	b.Set("asked", thing{weight: 1, counts: true, ok: true})
	shut := func() bool {
		st, _ := b.Status("storm", "")
		return st.Shut
	}
	r, err := b.Reserve("0")
	require.NoError(t, err)
	_, err = b.Reserve("asked")
	require.EqualError(t, err, `budget "storm" allows at most 0: 2 is too many`)
	require.False(t, shut())
	require.True(t, r.GiveBack())
	require.False(t, shut())
	r, err = b.Reserve("1")
	require.NoError(t, err)
	require.True(t, r.Commit())
	require.True(t, shut())
}

// Of two budgets that are told the same, one has a reservation more for some time. Once it is given back, nothing tells
// the two apart.
func TestGivenBackLeavesNothingBehind(t *testing.T) {
	for seed := range int64(*operations / 100) {
		r := rand.New(rand.NewSource(seed))
		clock := clocktesting.NewFakeClock(clockBegin)
		config := things(rules(r)...)
		config.Clock = clock
		var two [2]*Budget[string, thing]
		var open [2]map[string]Reservation[string]
		for i := range two {
			var err error
			two[i], err = New(config)
			require.NoError(t, err)
			open[i] = map[string]Reservation[string]{}
		}
		key := func() string { return fmt.Sprint("m", r.Intn(8)) }
		reserve := func(key string) {
			for i, b := range two {
				if reservation, err := b.Reserve(key); err == nil {
					open[i][key] = reservation
				}
			}
		}
		step := func(key string, held bool) {
			th := thing{
				pool: []string{"", "p"}[r.Intn(2)], zone: []string{"a", "b", ""}[r.Intn(3)], weight: int64(r.Intn(4)),
				counts: r.Intn(5) > 0, bad: r.Intn(3) == 0, ok: true,
			}
			what, passed, outcome := r.Intn(9), time.Duration(r.Intn(12))*time.Second, Outcome(1+r.Intn(3))
			if clock.Step(passed); what == 7 && !held { // what one may refuse because of the other's reservation
				reserve(key)
			}
			for i, b := range two {
				switch what {
				case 0:
					open[i][key].Commit()
				case 1:
					open[i][key].End()
				case 2:
					open[i][key].GiveBack()
				case 3:
					b.Remove(key)
				case 4, 5:
					b.Set(key, th)
				case 6:
					b.Adopt(key, clock.Now().Add(-passed))
				case 8:
					b.Judge(key, outcome)
				}
			}
		}
		for range 10 {
			for range 12 {
				step(key(), false)
			}
			more := key()
			reservation, err := two[0].Reserve(more)
			_, _ = two[1].Reserve("nobody") // both have been asked
			if err != nil {
				continue
			}
			for range r.Intn(10) {
				if other := key(); other != more {
					step(other, true)
				} else if th, known := last(two[0], more); known {
					th.weight = int64(r.Intn(4))
					two[0].Set(more, th)
					two[1].Set(more, th)
				}
			}
			require.True(t, reservation.GiveBack())
			require.Equal(t, two[1].Snapshot(), two[0].Snapshot(), "seed %d: %v", seed, config.Bounds)
			for _, bound := range config.Bounds {
				for _, group := range two[1].Groups(bound.Per) {
					want, _ := two[1].Status(bound.Name, group)
					got, _ := two[0].Status(bound.Name, group)
					require.Equal(t, want, got, "seed %d: %s of %q", seed, bound.Name, group)
				}
			}
		}
	}
}

// last returns a member as it was Set, in other groups.
func last(b *Budget[string, thing], key string) (thing, bool) {
	m := b.members[key]
	if m == nil {
		return thing{}, false
	}
	return thing{zone: "b", weight: m.weight, counts: m.counts, bad: m.bad, ok: m.actionable}, true
}
