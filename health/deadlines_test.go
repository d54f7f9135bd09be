package health

import (
	"encoding/json"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func deadlines(t testing.TB) (*Deadlines[string], *testingclock.FakePassiveClock) {
	clk := testingclock.NewFakePassiveClock(epoch)
	d, err := NewDeadlines[string](DeadlinesConfig{Grace: 10 * time.Second, Clock: clk})
	require.NoError(t, err)
	return d, clk
}

func TestDeadlines(t *testing.T) {
	d, clk := deadlines(t)
	_, ok := d.Next()
	require.False(t, ok)
	d.Beat("a")
	clk.SetTime(at(3))
	h := d.Track("b")
	require.Equal(t, h, d.Track("b"))
	d.BeatHandle(99, at(3))
	require.False(t, d.SetGrace("unheard", time.Second))
	require.True(t, d.SetGrace("b", 0), "ignored")
	require.True(t, d.SetGrace("b", 2*time.Second))
	next, _ := d.Next()
	require.Equal(t, at(5), next)
	clk.SetTime(at(9.5))
	require.Equal(t, []string{"b"}, slices.Collect(d.Expired()))
	require.True(t, d.SetGrace("b", time.Second), "also of one that expired")
	require.Empty(t, slices.Collect(d.Expired()), "each expiry once")
	st, ok := d.Get("b")
	require.True(t, ok)
	require.Equal(t, Status{LastBeat: at(3), Deadline: at(4), Grace: time.Second, HandedOut: true}, st)
	d.BeatHandle(h, at(9.5))
	clk.SetTime(at(10))
	d.BeatAt("b", at(1)) // before what was seen: counts as then
	for id := range d.Expired() {
		require.Equal(t, "a", id)
		d.Beat("a") // from inside the loop
		break
	}
	next, _ = d.Next()
	require.Equal(t, at(10.5), next, "b, beaten at 9.5")
	require.Equal(t, 2, d.Len())
	require.True(t, d.Forget("b"))
	require.False(t, d.Forget("b"))
	_, ok = d.Get("b")
	require.False(t, ok)
	clk.SetTime(at(15))
	d.Reset()
	next, _ = d.Next()
	require.Equal(t, at(25), next)
}

func TestDeadlinesSnapshot(t *testing.T) {
	d, clk := deadlines(t)
	d.Beat("a")
	clk.SetTime(at(4))
	d.Beat("b")
	clk.SetTime(at(11))
	require.Equal(t, []string{"a"}, slices.Collect(d.Expired()))
	text, err := json.Marshal(d.Snapshot())
	require.NoError(t, err)
	var snapshot []DeadlineSnapshot[string]
	require.NoError(t, json.Unmarshal(text, &snapshot))
	other, clock := deadlines(t)
	require.NoError(t, other.Restore(snapshot))
	require.ErrorContains(t, other.Restore(snapshot), "a")
	clock.SetTime(at(2.9))
	require.Empty(t, slices.Collect(other.Expired()))
	clock.SetTime(at(3))
	require.Equal(t, []string{"b"}, slices.Collect(other.Expired()))
}

// operations compares with a map that is scanned.
func operations(t testing.TB, ops []byte) {
	d, clk := deadlines(t)
	type entry struct {
		beat  time.Time
		grace time.Duration
		out   bool
	}
	m := map[string]*entry{}
	keys := []string{"a", "b", "c", "d", "e", "f"}
	for n := 0; n+1 < len(ops); n += 2 {
		key, arg := keys[int(ops[n]/8)%len(keys)], time.Duration(ops[n+1]%16)*time.Second
		switch ops[n] % 8 {
		case 0, 1, 2:
			d.Beat(key)
			if m[key] == nil {
				m[key] = &entry{grace: 10 * time.Second}
			}
			m[key].beat, m[key].out = clk.Now(), false
		case 3, 4:
			clk.SetTime(clk.Now().Add(arg))
		case 5:
			require.Equal(t, m[key] != nil, d.Forget(key))
			delete(m, key)
		case 6:
			if d.SetGrace(key, arg+time.Second) {
				m[key].grace = arg + time.Second
			}
		case 7:
			var want []string
			for k, e := range m {
				if !e.out && !e.beat.Add(e.grace).After(clk.Now()) {
					want = append(want, k)
					e.out = true
				}
			}
			require.ElementsMatch(t, want, slices.Collect(d.Expired()))
		}
		var next time.Time
		for k, e := range m {
			st, ok := d.Get(k)
			require.True(t, ok)
			require.Equal(t, Status{LastBeat: e.beat, Deadline: e.beat.Add(e.grace), Grace: e.grace, HandedOut: e.out}, st)
			if deadline := e.beat.Add(e.grace); !e.out && (next.IsZero() || deadline.Before(next)) {
				next = deadline
			}
		}
		got, ok := d.Next()
		require.Equal(t, !next.IsZero(), ok)
		require.True(t, got.Equal(next))
		require.Equal(t, len(m), d.Len())
	}
}

func TestOperationsAgainstAModel(t *testing.T) {
	for seed := range int64(300) {
		ops := make([]byte, 400)
		rand.New(rand.NewSource(seed)).Read(ops)
		operations(t, ops)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 0, 8, 0, 3, 5, 6, 2, 3, 9, 7, 0, 5, 0, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 800 {
			ops = ops[:800]
		}
		operations(t, ops)
	})
}
