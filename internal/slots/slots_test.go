package slots

import (
	"errors"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

// shelf is an owner that keeps what waits in a set.
type shelf map[*Slot[int, int, bool]]bool

func (o shelf) Queue(s *Slot[int, int, bool])     { o[s] = true }
func (o shelf) Unqueue(s *Slot[int, int, bool])   { delete(o, s) }
func (shelf) Became(*Slot[int, int, bool], State) {}

// item is what the model knows of a key: the picture of the page, and one holder at a time.
type item struct {
	state    State
	value    int
	due      time.Duration
	attempts int
	tried    bool              // a try has ended
	held     bool              // somebody holds it, perhaps in vain
	inVain   bool              // and that is so
	added    []Entry[int, int] // in this flight
}

// take does what an entry asks of an item, unless its policy keeps it.
func (i *item) take(e Entry[int, int], due time.Duration, tried bool) {
	if e.OnDuplicate == KeepFirst || e.OnDuplicate == KeepEarliest && (tried || due >= i.due) {
		return
	}
	if i.value = e.Value; !e.Due.IsZero() || e.OnDuplicate == KeepEarliest {
		i.due = due
	}
}

// end ends the flight.
func (i *item) end(e Ending, now time.Duration, due func(Entry[int, int]) time.Duration) {
	vain := i.inVain
	if i.held, i.inVain = false, false; vain {
		return
	}
	added := i.added
	i.added = nil
	switch e.Kind {
	case Done:
		*i = item{state: Finished}
	case Forget:
		if *i = (item{}); len(added) == 0 {
			return
		}
		*i = item{state: Waiting, value: added[0].Value, due: due(added[0])}
		for _, a := range added[1:] {
			i.take(a, due(a), false)
		}
	default:
		i.state, i.tried, i.due = Waiting, true, now+e.After
		if e.Kind != Blocked {
			i.attempts++
		}
		for _, a := range added {
			if a.OnDuplicate == Replace {
				i.take(a, due(a), true)
			}
		}
	}
}

func TestTableAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		clock, table, waits := testingclock.NewFakePassiveClock(time.Unix(1e9, 0)), &Table[int, int, bool]{}, shelf{}
		table.Start(Config{Clock: clock}, waits)
		begun, items, holds := clock.Now(), map[int]*item{}, map[int]Hold[int, int, bool]{}
		for key := range 4 {
			items[key] = &item{}
		}
		for range 300 {
			clock.SetTime(clock.Now().Add(time.Duration(r.Intn(3)) * time.Second))
			steady, now := table.Read(), clock.Since(begun)
			due := func(e Entry[int, int]) time.Duration { return e.Due.Sub(begun) }
			key := r.Intn(len(items))
			is := items[key]
			switch r.Intn(6) {
			case 0, 1:
				e := Entry[int, int]{Key: key, Value: r.Int(), Due: clock.Now().Add(time.Duration(r.Intn(20)-5) * time.Second), OnDuplicate: Duplicate(r.Intn(3))}
				require.Equal(t, is.state, table.Add(&e, false, steady))
				switch is.state {
				case Unknown:
					*is = item{state: Waiting, value: e.Value, due: due(e), held: is.held, inVain: is.held}
				case Waiting:
					is.take(e, due(e), is.tried)
				case InFlight:
					if e.OnDuplicate != KeepFirst {
						is.added = append(is.added, e)
					}
				}
			case 2:
				require.Equal(t, is.state, table.Remove(key))
				*is = item{held: is.held, inVain: is.held}
			case 3:
				if is.state == Waiting && !is.held {
					s := table.Get(key)
					require.True(t, waits[s])
					table.owner.Unqueue(s)
					holds[key] = table.Hand(s)
					is.state, is.held = InFlight, true
				}
			default:
				if !is.held {
					break
				}
				e := Ending{Kind: Kind(r.Intn(5)), After: time.Duration(r.Intn(9)) * time.Second, Err: errors.New("unavailable")}
				holds[key].End(e, steady)
				require.True(t, holds[key].Ended())
				is.end(e, now, due)
			}
			agree(t, table, waits, items, begun)
			table.Unlock()
		}
	}
}

// agree compares all that can be seen.
func agree(t *testing.T, table *Table[int, int, bool], waits shelf, items map[int]*item, begun time.Time) {
	counts, queued := [states]int{}, 0
	for key, is := range items {
		s := table.Get(key)
		if is.state == Unknown {
			require.Nil(t, s)
			continue
		}
		counts[is.state]++
		require.Equal(t, is.state, s.State)
		require.Equal(t, is.attempts, s.Attempts())
		require.Equal(t, is.attempts > 0, s.Err() != nil)
		if is.state == Waiting && !is.held {
			require.True(t, waits[s])
			queued++
		}
		if is.state == Waiting {
			require.Equal(t, is.value, s.Value)
			require.Equal(t, is.due, table.Instant(s.Due).Sub(begun))
		}
	}
	for state := Waiting; state < states; state++ {
		require.Equal(t, counts[state], table.Count(state))
	}
	require.Len(t, waits, queued)
}
