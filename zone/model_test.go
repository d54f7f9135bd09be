package zone

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// model is a simple tracker. It remembers the members and what it told about zones, and counts from scratch whenever it
// is asked.
type model struct {
	policy  Policy
	members map[string]placed
	zones   map[Key]*judged // every zone that has had a member since it last went
	asked   []Situation     // what the last evaluation asked the policy
	changed bool            // a count may have changed since then
	allDown bool

	last    time.Time // of the clock
	elapsed time.Duration
	ask     time.Duration // when to ask again
}

type placed struct {
	zone Key
	Member
}

// judged is what was told about a zone.
type judged struct {
	state State
	rate  float64
}

func newModel(p Policy, now time.Time) *model {
	return &model{policy: p, members: map[string]placed{}, zones: map[Key]*judged{}, last: now, ask: math.MaxInt64}
}

// at is how much time has passed.
func (m *model) at(now time.Time) time.Duration {
	if now.After(m.last) {
		m.elapsed += now.Sub(m.last)
	}
	m.last = now
	return m.elapsed
}

func (m *model) set(key string, zone Key, member Member) {
	old, known := m.members[key]
	if known && member.Identity == "" {
		member.Identity = old.Identity
	}
	m.changed = m.changed || !known || old.zone != zone || old.Ready != member.Ready || old.Excluded != member.Excluded
	m.members[key] = placed{zone, member}
	if _, ok := m.zones[zone]; !ok {
		m.zones[zone] = &judged{state: Initial}
	}
}

func (m *model) remove(key, identity string) bool {
	p, ok := m.members[key]
	if !ok || identity != "" && p.Identity != "" && identity != p.Identity {
		return false
	}
	delete(m.members, key)
	m.changed = true
	return true
}

// count counts the members of one zone, or of all if zone is nil.
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

// statuses is what is known about every zone.
func (m *model) statuses() (all []Status) {
	for _, k := range m.keys() {
		counts, _ := m.count(&k)
		all = append(all, Status{k, m.zones[k].state, m.zones[k].rate, counts})
	}
	return all
}

func (m *model) evaluate(now time.Time) (changes []Change) {
	at := m.at(now)
	m.asked = nil
	if !m.changed && at < m.ask {
		return nil
	}
	m.changed, m.ask = false, math.MaxInt64
	before, rulings := m.statuses(), []Ruling{}
	counted, full := 0, 0
	cluster, _ := m.count(nil)
	for _, s := range before {
		m.asked = append(m.asked, Situation{s, cluster, now})
		r := m.policy.Decide(m.asked[len(m.asked)-1])
		rulings = append(rulings, r)
		if s.Counts.Total > 0 {
			counted++
			if r.State == FullDisruption {
				full++
			}
		}
	}
	was := m.allDown
	m.allDown = counted > 0 && counted == full
	for i, s := range before {
		changes = append(changes, m.adopt(s, rulings[i], at))
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		i := slices.IndexFunc(before, func(s Status) bool { return s.Zone == c.Zone })
		return !c.Gone && c.Status == before[i] && m.allDown == was
	})
}

// adopt takes over what the policy ruled about a zone, and returns what to tell.
func (m *model) adopt(was Status, r Ruling, at time.Duration) Change {
	c := Change{Status: Status{was.Zone, r.State, r.Rate, was.Counts}, From: was.State, AllDown: m.allDown}
	if m.allDown {
		c.Rate = 0
	}
	if _, members := m.count(&was.Zone); members == 0 {
		delete(m.zones, was.Zone)
		c.State, c.Rate, c.Gone = Initial, 0, true
		return c
	}
	if r.AskAfter > 0 {
		m.ask = min(m.ask, at+r.AskAfter)
	}
	m.zones[was.Zone].state, m.zones[was.Zone].rate = c.State, c.Rate
	return c
}

// next is when the policy wants to be asked again, as the clock shows it.
func (m *model) next(now time.Time) (time.Time, bool) {
	m.at(now)
	return m.last.Add(m.ask - m.elapsed), m.ask != math.MaxInt64
}

// check compares the answers of every method, and checks the tracker's invariants.
func (m *model) check(t *testing.T, tracker *Tracker[string], now time.Time) {
	t.Helper()
	want := m.statuses()
	if got := tracker.Zones(); !slices.Equal(want, got) {
		require.Equal(t, want, got)
	}
	for _, s := range want {
		if got, ok := tracker.Zone(s.Zone); !ok || got != s {
			require.True(t, ok)
			require.Equal(t, s, got)
		}
	}
	if _, known := tracker.Zone(Key{"never", "seen"}); known || tracker.AllDown() != m.allDown {
		require.False(t, known, "what was never set is there")
		require.Equal(t, m.allDown, tracker.AllDown())
	}
	wantNext, wantOK := m.next(now)
	if got, ok := tracker.Next(now); ok != wantOK || ok && !got.Equal(wantNext) {
		require.Equal(t, wantOK, ok)
		require.Equal(t, wantNext, got)
	}
	checkInvariants(t, tracker)
	if tracker.members.Len() != len(m.members) {
		require.Equal(t, len(m.members), tracker.members.Len())
	}
	for key, p := range m.members {
		if r := tracker.members.Get(key); r == nil || p != (placed{r.zone.Zone, r.Member}) {
			require.NotNil(t, r)
			require.Equal(t, p, placed{r.zone.Zone, r.Member})
		}
	}
}

// checkInvariants checks what must hold between two calls.
func checkInvariants[K comparable](t *testing.T, tracker *Tracker[K]) {
	t.Helper()
	holds := func(ok bool, what string) {
		if !ok {
			require.Fail(t, what)
		}
	}
	var sum Counts
	members := map[*domain]int{}
	for _, r := range tracker.members.All() {
		members[r.zone]++
	}
	for i, d := range tracker.zones {
		at, known := tracker.placeLocked(d.Zone)
		holds(known && at == i, "zones are found where they are")
		holds(0 <= d.Counts.Bad && d.Counts.Bad <= d.Counts.Total && d.Counts.Total <= d.members, "counts add up")
		holds(d.members == members[d], "members are counted")
		holds(d.members > 0 || tracker.changes != tracker.judged, "an empty zone goes")
		sum.Total, sum.Bad = sum.Total+d.Counts.Total, sum.Bad+d.Counts.Bad
		delete(members, d)
	}
	holds(len(members) == 0, "no member is in a dropped zone")
	holds(sum == tracker.total, "the sum is that of the zones")
}
