package zone

import (
	"flag"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var operations = flag.Int("operations", 60_000, "how many random operations are played beside the model, for each policy")

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func small() DisruptionPolicy {
	return DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 4, UnhealthyThreshold: 0.55}
}

// cautious stops every zone while more than half of the cluster is bad, so its rulings depend on all zones. A zone that
// is wholly down has a rate of its own.
func cautious(s Situation) Ruling {
	r := small().Decide(s)
	if r.State == FullDisruption {
		r.Rate = 0.3
	}
	if 2*s.Cluster.Bad > s.Cluster.Total {
		r.Rate = 0
	}
	return r
}

// patient leaves a partial disruption only when fewer than two members are bad, and waits ten seconds after a
// disruption. Its rulings depend on state, time and memory.
func patient() Policy {
	const calm = 10 * time.Second
	over := map[Key]time.Time{} // since when
	return PolicyFunc(func(s Situation) Ruling {
		r := small().Decide(s)
		if r.State == Normal && s.State == PartialDisruption && s.Counts.Bad >= 2 {
			r = Ruling{State: PartialDisruption, Rate: 0.01}
		}
		if r.State == Normal && (s.State == PartialDisruption || s.State == FullDisruption) {
			over[s.Zone] = s.Now
		}
		if since, ok := over[s.Zone]; ok && r.State == Normal && s.Now.Sub(since) < calm {
			r.Rate, r.AskAfter = 0, calm-s.Now.Sub(since)
		}
		return r
	})
}

var policies = []struct {
	name   string
	policy func() Policy
}{{"small", func() Policy { return small() }}, {"cautious", func() Policy { return PolicyFunc(cautious) }}, {"patient", patient}}

// life is a tracker on its own clock, and its model.
type life struct {
	now     time.Time
	tracker *Tracker[string]
	model   *model
	asked   []Situation // what the policy was asked
	changes int
}

func newLife(t *testing.T, policy func() Policy, now time.Time) *life {
	l := &life{now: now, model: newModel(policy(), now)}
	asked := policy()
	if decide, ok := asked.(PolicyFunc); ok {
		asked = PolicyFunc(func(s Situation) Ruling {
			l.asked = append(l.asked, s)
			return decide(s)
		})
	}
	var err error
	l.tracker, err = New[string](asked)
	require.NoError(t, err)
	return l
}

func (l *life) evaluate(t *testing.T) {
	l.asked = nil
	want, got := l.model.evaluate(l.now), l.tracker.Evaluate(l.now)
	if !slices.Equal(want, got) {
		require.Equal(t, want, got)
	}
	if _, ours := l.model.policy.(DisruptionPolicy); !ours && !slices.Equal(l.model.asked, l.asked) {
		require.Equal(t, l.model.asked, l.asked)
	}
	require.Nil(t, l.tracker.Evaluate(l.now), "each change once")
	l.changes += len(got)
}

// step applies the next operation of the program, reading one byte for each choice.
func (l *life) step(t *testing.T, next func() int) {
	zones := [...]Key{{}, {"", "a"}, {"a", ""}, {"r", "b"}}
	keys := [...]string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"}
	identities := [...]string{"", "u", "v"}
	key := func() string { return keys[next()%len(keys)] }
	switch op := next() % 30; {
	case op < 15:
		key, z, what := key(), zones[next()%len(zones)], next()
		member := Member{Ready: what%3 == 0, Excluded: what/3%5 == 0, Identity: identities[what/15%3]}
		l.tracker.Set(key, z, member)
		l.model.set(key, z, member)
	case op < 19:
		key := key()
		require.Equal(t, l.model.remove(key, ""), l.tracker.Remove(key, ""))
	case op < 21:
		key, identity := key(), identities[next()%3]
		require.Equal(t, l.model.remove(key, identity), l.tracker.Remove(key, identity))
	case op < 26:
		l.evaluate(t)
	case op < 28:
		l.now = l.now.Add(time.Duration(next()%30) * time.Second)
	case op < 29:
		l.model.at(l.now)
		if at, ok := l.tracker.Next(l.now); ok && at.After(l.now) {
			l.now = at
		}
	default:
		l.now = l.now.Add(-time.Duration(next()) * time.Minute)
	}
}

// bytesOf returns a function that reads the program byte by byte, and gives 0 after its end.
func bytesOf(program []byte) (next func() int, left func() bool) {
	next = func() int {
		if len(program) == 0 {
			return 0
		}
		b := program[0]
		program = program[1:]
		return int(b)
	}
	return next, func() bool { return len(program) > 0 }
}

func play(t *testing.T, policy func() Policy, program []byte) (steps, changes int) {
	l := newLife(t, policy, epoch)
	next, left := bytesOf(program)
	for left() {
		l.step(t, next)
		l.model.check(t, l.tracker, l.now)
		steps++
	}
	return steps, l.changes
}

func TestTrackerEqualsModel(t *testing.T) {
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			changes := 0
			for seed, steps := int64(0), 0; steps < *operations; seed++ {
				program := make([]byte, 1500)
				rand.New(rand.NewSource(seed)).Read(program)
				s, c := play(t, p.policy, program)
				steps, changes = steps+s, changes+c
				if t.Failed() {
					t.Fatal("seed", seed)
				}
			}
			require.Greater(t, changes, *operations/20, "the random programs cause changes")
		})
	}
}

func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 0, 1, 1, 1, 21, 0, 2, 3, 3, 21})           // all down, then a ready newcomer in a new zone
	f.Add([]byte{0, 0, 1, 3, 21, 15, 0, 21, 0, 0, 1, 3, 21})            // a zone vanishes and returns
	f.Add([]byte{0, 0, 1, 0, 21, 0, 0, 2, 0, 21, 31, 21, 19, 0, 1, 21}) // an excluded member moves
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 400 {
			return
		}
		for _, p := range policies {
			play(t, p.policy, program)
		}
	})
}
