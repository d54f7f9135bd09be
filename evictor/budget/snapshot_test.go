package budget

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// empty has a bound of each kind that a snapshot tells of, and no members.
func empty(t *testing.T) *Budget[string, thing] {
	t.Helper()
	return fleet(t, 0, 0,
		Bound{Name: "one", Per: "zone", Of: Acting, Max: Count(1)}, Bound{Name: "recent", Of: Recent, Within: time.Minute, Max: Count(9)},
		Bound{Name: "storm", Per: "zone", Of: Bad, Max: Count(0), Quiet: time.Minute},
		Bound{Name: "trial", Per: "zone", Of: Unproven, Max: Count(9), Within: time.Minute, Quiet: time.Minute, Unjudged: Proved},
	)
}

func TestWhatCannotBeRestored(t *testing.T) {
	second, back := time.Second, -time.Second
	recent := func(r ...recentSnapshot[string]) groupSnapshot[string] {
		return groupSnapshot[string]{Bound: "recent", Recent: r}
	}
	for want, s := range map[string]Snapshot[string]{
		`budget: cannot restore a snapshot of version 0, only of version 1`:                   {},
		`budget: snapshot: bound "other", group "": there is no such bound`:                   {Version: 1, Groups: []groupSnapshot[string]{{Bound: "other"}}},
		`budget: snapshot: bound "recent", group "a": it has no groups`:                       {Version: 1, Groups: []groupSnapshot[string]{{Bound: "recent", Group: "a"}}},
		`budget: snapshot: bound "one", group "a": not a breaker`:                             {Version: 1, Groups: []groupSnapshot[string]{{Bound: "one", Group: "a", Shut: true}}},
		`budget: snapshot: bound "storm", group "a": it is not shut, or its time is negative`: {Version: 1, Groups: []groupSnapshot[string]{{Bound: "storm", Group: "a", Calm: &second}}},
		`budget: snapshot: bound "storm", group "b": it is not shut, or its time is negative`: {Version: 1, Groups: []groupSnapshot[string]{{Bound: "storm", Group: "b", Shut: true, Calm: &back}}},
		`budget: snapshot: bound "storm", group "a": not a trial`:                             {Version: 1, Groups: []groupSnapshot[string]{{Bound: "storm", Group: "a", Failures: 1}}},
		`budget: snapshot: bound "trial", group "a": not a breaker`:                           {Version: 1, Groups: []groupSnapshot[string]{{Bound: "trial", Group: "a", Shut: true}}},
		`budget: snapshot: bound "trial", group "a": a number or a time is negative`:          {Version: 1, Groups: []groupSnapshot[string]{{Bound: "trial", Group: "a", Proved: -1}}},
		`budget: snapshot: bound "trial", group "a": so much cannot have happened`:            {Version: 1, Groups: []groupSnapshot[string]{{Bound: "trial", Group: "a", Proved: math.MaxInt64}}},
		`budget: snapshot: bound "trial", group "b": so much cannot have happened`:            {Version: 1, Groups: []groupSnapshot[string]{{Bound: "trial", Group: "b", Failures: math.MaxInt32}}},
		`budget: snapshot: bound "trial", group "b": x appears twice`: {Version: 1, Groups: []groupSnapshot[string]{
			{Bound: "trial", Group: "a", Recent: []recentSnapshot[string]{{Key: "x", Weight: 1}}}, {Bound: "trial", Group: "b", Recent: []recentSnapshot[string]{{Key: "x", Weight: 1}}},
		}},
		`budget: snapshot: bound "one", group "a": it does not count recent actions`: {Version: 1, Groups: []groupSnapshot[string]{
			{Bound: "one", Group: "a", Recent: []recentSnapshot[string]{{Key: "x"}}},
		}},
		`budget: snapshot: bound "one", group "a": appears twice`:                                             {Version: 1, Groups: []groupSnapshot[string]{{Bound: "one", Group: "a"}, {Bound: "one", Group: "a"}}},
		`budget: snapshot: bound "recent", group "": an age is negative, or a weight is not one of a member`:  {Version: 1, Groups: []groupSnapshot[string]{recent(recentSnapshot[string]{Key: "x", Ago: -1})}},
		`budget: snapshot: bound "recent", group "": an age is negative, or a weight is not one of a member `: {Version: 1, Groups: []groupSnapshot[string]{recent(recentSnapshot[string]{Key: "x", Weight: maxWeight + 1})}},
		`budget: snapshot: x is acted on twice`:                                                               {Version: 1, Acting: map[string][]string{"": {"x", "y"}, "evictor": {"x"}}},
		`budget: snapshot: bound "recent", group "": the oldest does not come first`:                          {Version: 1, Groups: []groupSnapshot[string]{recent(recentSnapshot[string]{Key: "x"}, recentSnapshot[string]{Key: "y", Ago: 1})}},
		`budget: snapshot: bound "recent", group "": x appears twice`:                                         {Version: 1, Groups: []groupSnapshot[string]{recent(recentSnapshot[string]{Key: "x"}, recentSnapshot[string]{Key: "x"})}},
	} {
		b := empty(t)
		require.EqualError(t, b.Restore(s), strings.TrimSpace(want))
		require.NoError(t, b.Restore(Snapshot[string]{Version: SnapshotVersion}), "nothing was taken over")
	}
	b := empty(t)
	b.Set("x", thing{})
	require.ErrorIs(t, b.Restore(Snapshot[string]{Version: 1}), ErrNotEmpty)
}

// A member that was acted on still is when it is Set again, in whatever group.
func TestActingIsRestored(t *testing.T) {
	one := Bound{Name: "one", Per: "zone", Of: Acting, Max: Count(1)}
	b := fleet(t, 3, 0, one)
	r, err := b.Reserve("1")
	require.NoError(t, err)
	require.True(t, r.Commit())
	text, err := json.Marshal(b.Snapshot())
	require.NoError(t, err)
	require.JSONEq(t, `{"version":1,"acting":{"":["1"]}}`, string(text))
	next, err := New(things(one))
	require.NoError(t, err)
	require.NoError(t, next.Restore(b.Snapshot()))
	require.Equal(t, b.Snapshot(), next.Snapshot())
	for _, key := range []string{"0", "1"} {
		next.Set(key, thing{zone: "b", weight: 1, ok: true})
	}
	_, err = next.Reserve("0")
	require.EqualError(t, err, `budget "one" allows at most 1 in zone "b": 2 is too many`)
	require.True(t, next.End("1"))
	require.False(t, next.End("1"))
	_, err = next.Reserve("0")
	require.NoError(t, err)
}

// Restore accepts what it reads as a whole or says why not. What it accepted, Snapshot returns.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"acting":["a","b","a"],"groups":[{"bound":"trial","group":"a","proved":3,"failures":2,"cooldown":9,"recent":[{"key":"b","ago":5,"weight":1}]},{"bound":"recent","recent":[{"key":"a","ago":5,"weight":2}]},{"bound":"storm","group":"a","shut":true,"calm":7}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Snapshot[string]
		if json.Unmarshal(text, &s) != nil {
			return
		}
		b := empty(t)
		if b.Restore(s) != nil {
			require.NoError(t, b.Restore(Snapshot[string]{Version: SnapshotVersion}))
			return
		}
		for name, keys := range s.Acting {
			for _, key := range keys {
				b.Set(key, thing{zone: "a", weight: 1, ok: true})
				_, err := b.Reserve(key)
				require.ErrorIs(t, err, ErrActing)
				require.True(t, b.As(name).Adopt(key, time.Time{}))
			}
		}
		_ = b.Snapshot()
	})
}
