package zone

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// model is a tracker that remembers members and nothing else, and counts them anew at every question.
type model struct {
	policy  Policy
	members map[string]placed
	zones   map[Key]judged // every zone that had a member since it was last gone
	allDown bool
}

type placed struct {
	zone Key
	Member
}

type judged struct {
	state State
	rate  float64
}

func newModel(p Policy) *model {
	return &model{policy: p, members: map[string]placed{}, zones: map[Key]judged{}}
}

func (m *model) set(key string, zone Key, member Member) {
	m.members[key] = placed{zone, member}
	if _, ok := m.zones[zone]; !ok {
		m.zones[zone] = judged{Initial, 0}
	}
}

func (m *model) remove(key, identity string) bool {
	p, ok := m.members[key]
	if !ok || identity != "" && p.Identity != "" && identity != p.Identity {
		return false
	}
	delete(m.members, key)
	return true
}

// count is of one zone, or of all when zone is nil.
func (m *model) count(zone *Key) (c Counts, members int) {
	for _, p := range m.members {
		if zone != nil && p.zone != *zone {
			continue
		}
		members++
		if !p.Excluded {
			c.Total++
			if !p.Ready {
				c.Bad++
			}
		}
	}
	return c, members
}

func (m *model) keys() []Key {
	keys := make([]Key, 0, len(m.zones))
	for k := range m.zones {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone)) })
	return keys
}

func (m *model) evaluate() (changes []Change) {
	cluster, _ := m.count(nil)
	counted, full := 0, 0
	for k := range m.zones {
		if c, _ := m.count(&k); c.Total > 0 {
			counted++
			if m.policy.State(c) == FullDisruption {
				full++
			}
		}
	}
	down := counted > 0 && counted == full
	transition := None
	if down != m.allDown {
		transition = map[bool]Transition{true: Entered, false: Left}[down]
	}
	m.allDown = down
	for _, k := range m.keys() {
		was := m.zones[k]
		counts, members := m.count(&k)
		if members == 0 {
			delete(m.zones, k)
			changes = append(changes, Change{Zone: k, From: was.state, To: Initial, PreviousRate: was.rate, Cluster: transition, Gone: true})
			continue
		}
		is := judged{state: m.policy.State(counts)}
		if !down {
			is.rate = m.policy.Rate(Situation{Zone: k, State: is.state, Counts: counts, Cluster: cluster})
		}
		m.zones[k] = is
		if is != was || transition != None {
			changes = append(changes, Change{Zone: k, From: was.state, To: is.state, PreviousRate: was.rate, Rate: is.rate, Counts: counts, Cluster: transition})
		}
	}
	return changes
}

// check compares all that can be asked, and the tracker's invariants.
func (m *model) check(t *testing.T, tracker *Tracker[string]) {
	t.Helper()
	want := make([]Status, 0, len(m.zones))
	sum := Counts{}
	for _, k := range m.keys() {
		counts, members := m.count(&k)
		want = append(want, Status{Zone: k, State: m.zones[k].state, Rate: m.zones[k].rate, Counts: counts, Members: members})
		sum.Total += counts.Total
		sum.Bad += counts.Bad
	}
	require.Equal(t, want, tracker.Zones())
	for _, s := range want {
		got, ok := tracker.Zone(s.Zone)
		require.True(t, ok)
		require.Equal(t, s, got)
	}
	require.Equal(t, sum, tracker.Cluster())
	require.Equal(t, m.allDown, tracker.AllDown())
	require.Equal(t, len(m.members), tracker.Len())
	for key, p := range m.members {
		zone, member, ok := tracker.Get(key)
		require.True(t, ok)
		require.Equal(t, p, placed{zone, member})
	}

	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	require.Len(t, tracker.domains, len(tracker.order))
	for i, d := range tracker.order {
		require.Same(t, d, tracker.domains[d.key])
		require.True(t, i == 0 || tracker.order[i-1].key.Compare(d.key) < 0, "in order")
		require.True(t, 0 <= d.counts.Bad && d.counts.Bad <= d.counts.Total && d.counts.Total <= d.members)
		require.True(t, !tracker.allDown || d.rate == 0, "no rate while all zones are down")
	}
	for _, r := range tracker.members {
		require.Same(t, r.domain, tracker.domains[r.domain.key], "no member in a dropped zone")
	}
}

// cautious stops everywhere when more than half of the cluster is bad: its rates depend on all zones.
type cautious struct{ DisruptionPolicy }

func (c cautious) Rate(s Situation) float64 {
	if 2*s.Cluster.Bad > s.Cluster.Total {
		return 0
	}
	return c.DisruptionPolicy.Rate(s)
}

// play reads operations off the program, a byte for each decision, and applies them to both sides.
func play(t *testing.T, policy Policy, program []byte) (changes int) {
	tracker, err := NewTracker[string](policy)
	require.NoError(t, err)
	m := newModel(policy)
	zones := []Key{{}, {"", "a"}, {"a", ""}, {"r", "b"}}
	next := func() int {
		if len(program) == 0 {
			return 0
		}
		b := program[0]
		program = program[1:]
		return int(b)
	}
	for len(program) > 0 {
		switch op := next() % 16; {
		case op < 9:
			key, z, what := fmt.Sprint("n", next()%12), zones[next()%len(zones)], next()
			member := Member{Ready: what%3 == 0, Excluded: what/3%5 == 0, Identity: []string{"", "u", "v"}[what/15%3]}
			tracker.Set(key, z, member)
			m.set(key, z, member)
		case op < 11:
			key := fmt.Sprint("n", next()%12)
			require.Equal(t, m.remove(key, ""), tracker.Remove(key))
		case op < 12:
			key, identity := fmt.Sprint("n", next()%12), []string{"", "u", "v"}[next()%3]
			require.Equal(t, m.remove(key, identity), tracker.RemoveIdentity(key, identity))
		case op < 15:
			want, got := m.evaluate(), tracker.Evaluate()
			require.Equal(t, want, got)
			require.Nil(t, tracker.Evaluate(), "each change once")
			changes += len(got)
		default: // through another process
			text, err := json.Marshal(tracker.Snapshot())
			require.NoError(t, err)
			var s Snapshot[string]
			require.NoError(t, json.Unmarshal(text, &s))
			tracker, err = NewTracker[string](policy)
			require.NoError(t, err)
			require.NoError(t, tracker.Restore(s))
			require.Equal(t, s, tracker.Snapshot())
		}
		m.check(t, tracker)
	}
	return changes
}

func small() DisruptionPolicy {
	rate := 0.3
	return DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 4, UnhealthyThreshold: 0.55, FullDisruptionRate: &rate}
}

func TestTrackerEqualsModel(t *testing.T) {
	changes := 0
	for seed := int64(0); seed < 60; seed++ {
		program := make([]byte, 600)
		rand.New(rand.NewSource(seed)).Read(program)
		for _, policy := range []Policy{small(), cautious{small()}} {
			if !t.Run(fmt.Sprintf("%T/%d", policy, seed), func(t *testing.T) { changes += play(t, policy, program) }) {
				return
			}
		}
	}
	require.Greater(t, changes, 1000, "the programs reach something")
}

func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 0, 1, 1, 1, 12, 0, 2, 3, 3, 12})           // all down, then a ready newcomer in a new zone
	f.Add([]byte{0, 0, 1, 3, 12, 9, 0, 12, 0, 0, 1, 3, 12})             // a zone vanishes and returns
	f.Add([]byte{0, 0, 1, 0, 12, 0, 0, 2, 0, 12, 15, 12, 11, 0, 1, 12}) // an excluded member moves
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 400 {
			return
		}
		play(t, small(), program)
		play(t, cautious{small()}, program)
	})
}
