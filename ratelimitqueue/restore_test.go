package ratelimitqueue

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A snapshot with a fault changes nothing.
func TestRestoreRefuses(t *testing.T) {
	item := SnapshotItem[string, int]{Key: "a", State: StateWaiting}
	sound := func() Snapshot[string, int] {
		return Snapshot[string, int]{Version: 1, Rate: 1, Items: []SnapshotItem[string, int]{item}}
	}
	for fault, change := range map[string]func(*Snapshot[string, int]){
		"version":       func(s *Snapshot[string, int]) { s.Version = 2 },
		"rate":          func(s *Snapshot[string, int]) { s.Rate = math.Inf(1) },
		"tokens":        func(s *Snapshot[string, int]) { s.Tokens = math.NaN() },
		"ago":           func(s *Snapshot[string, int]) { s.TokensAge = -1 },
		"reason":        func(s *Snapshot[string, int]) { s.Pauses = []string{"x", "y", "x"} },
		"twice":         func(s *Snapshot[string, int]) { s.Items = append(s.Items, item) },
		"State(0)":      func(s *Snapshot[string, int]) { s.Items[0].State = 0 },
		"State(4)":      func(s *Snapshot[string, int]) { s.Items[0].State = 4 },
		"-1 attempts":   func(s *Snapshot[string, int]) { s.Items[0].Attempts = -1 },
		"put off by -1": func(s *Snapshot[string, int]) { s.Items[0].PutOff = -1 },
	} {
		f := queue(t, Config{Rate: 0.5})
		s := sound()
		change(&s)
		require.ErrorContains(t, f.Restore(s), fault)
		require.Zero(t, f.Len())
		require.Equal(t, 0.5, f.Rate())
		require.Empty(t, f.Paused())
		require.NoError(t, f.Restore(sound()))
	}
}

func TestGroupRestoreRefuses(t *testing.T) {
	item := GroupSnapshotItem[string, string, int]{Domain: "p", SnapshotItem: SnapshotItem[string, int]{Key: "a", State: StateWaiting}}
	domain := SnapshotDomain[string]{Domain: "p", Rate: 1}
	type snapshot = GroupSnapshot[string, string, int]
	for fault, change := range map[string]func(*snapshot){
		"version":                           func(s *snapshot) { s.Version = 0 },
		"tokens":                            func(s *snapshot) { s.Tokens = -2 },
		"reason":                            func(s *snapshot) { s.Pauses = []string{"x", "x"} },
		"key a appears twice":               func(s *snapshot) { s.Items = append(s.Items, item) },
		"domain p appears":                  func(s *snapshot) { s.Domains = append(s.Domains, domain) },
		"domain p: rate":                    func(s *snapshot) { s.Domains[0].Rate = -3 },
		"domain p: invalid tokens: 1 token": func(s *snapshot) { s.Domains[0].Tokens, s.Domains[0].TokensAge = 1, -1 },
		"domain p: a":                       func(s *snapshot) { s.Domains[0].Pauses = []string{"x", "x"} },
	} {
		g, err := NewGroup[string, string, int](GroupConfig[string, string]{Rate: 1})
		require.NoError(t, err)
		s := snapshot{Version: 1, Domains: []SnapshotDomain[string]{domain}, Items: []GroupSnapshotItem[string, string, int]{item}}
		change(&s)
		if fault == "domain p: rate" {
			require.ErrorContains(t, g.Restore(s), "domain p: ratelimitqueue: rate")
		} else {
			require.ErrorContains(t, g.Restore(s), fault)
		}
		require.Zero(t, g.Len())
		require.Zero(t, g.domains.Len())
	}
}

func TestSnapshotOfRates(t *testing.T) {
	for _, rate := range []float64{Unlimited, Stopped, 0.1} {
		f := queue(t, Config{Rate: rate, Burst: 2})
		f.Add("a", 1)
		f.Pause("storm")
		f.step(time.Hour)
		text, err := json.Marshal(f.Snapshot())
		require.NoError(t, err)
		var s Snapshot[string, int]
		require.NoError(t, json.Unmarshal(text, &s))
		other := queue(t, Config{Rate: 7, Burst: 2})
		require.NoError(t, other.Restore(s))
		require.Equal(t, max(rate, 0), other.Rate())
		require.Equal(t, []string{"storm"}, other.Paused())
		require.True(t, other.Resume("storm"))
		want := []string{"a"}
		if rate == Stopped {
			want = nil
		}
		require.Equal(t, want, other.takes())
	}
}

// Restoring any snapshot fails, or gives a queue that works and has the same snapshot.
func FuzzRestore(f *testing.F) {
	for seed := range uint64(20) {
		p := newPlayer(f, &seededChoices{state: seed, left: 100}, seed%2 == 0)
		p.play()
		f.Add(p.subject.stop(f))
	}
	f.Add([]byte(`{"version":1,"rate":1e-300,"tokens":-1,"tokensAge":9223372036854775807,"items":[{"key":"a","state":1,"waited":-9223372036854775808,"in":-9223372036854775808,"putOff":9223372036854775807},{"key":"b","state":2,"in":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, isQueue := range []bool{true, false} {
			s := setup{queue: isQueue, rate: 1, burst: 2, maxRate: 3, maxInFlight: 5}
			restored := s.make(t, epoch, false)
			if restored.restore(text) != nil {
				require.Zero(t, restored.core().Len())
				continue
			}
			again := s.make(t, epoch, false)
			require.NoError(t, again.restore(restored.stop(t)))
			require.JSONEq(t, string(restored.stop(t)), string(again.stop(t)))
			restored.clk.Pass(time.Hour)
			for range 4 {
				if item, ok := restored.take(); ok {
					require.False(t, item.Due.After(restored.clk.Now()))
					item.RetryAfter(time.Second)
				}
				_, _ = restored.core().Next()
			}
			restored.core().Clear()
			require.Zero(t, restored.core().records.Len())
		}
	})
}

func TestRestoreOfWhatIsDueInNoTime(t *testing.T) {
	f := queue(t, Config{Rate: 1, Burst: 10})
	f.step(time.Hour)
	require.NoError(t, f.Restore(Snapshot[string, int]{Version: 1, Rate: 1, Tokens: 1, Items: []SnapshotItem[string, int]{{Key: "a", State: StateWaiting, In: math.MaxInt64}}}))
	require.Empty(t, f.takes())
}
