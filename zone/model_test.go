package zone

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// model is a simple tracker. It remembers the members and what it told about zones, counts from scratch whenever it is
// asked, and asks the policy about every zone at every evaluation.
type model struct {
	policy  Policy
	members map[string]placed
	zones   map[Key]*judged // every zone that has had a member since it last went
	asked   []Situation     // what the last evaluation asked the policy
	allDown bool

	last    time.Time // of the clock
	elapsed time.Duration
}

type placed struct {
	zone Key
	Member
}

// judged is what was told about a zone. Before its first evaluation, state is Initial.
type judged struct {
	evaluated     bool
	state, before State
	rate          float64
	counts        Counts
	since         time.Duration
	badSince      time.Duration // -1 when none is
	ask           time.Duration // -1 for never
}

func newModel(p Policy, now time.Time) *model {
	return &model{policy: p, members: map[string]placed{}, zones: map[Key]*judged{}, last: now}
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
	if old, ok := m.members[key]; ok && member.Identity == "" {
		member.Identity = old.Identity
	}
	m.members[key] = placed{zone, member}
	if _, ok := m.zones[zone]; !ok {
		m.zones[zone] = &judged{state: Initial, before: Initial, badSince: -1, ask: -1}
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

// told is the standing of a zone and the counts it is based on, given whether every zone is down.
func (z *judged) told(allDown bool) (standing, Counts) {
	if z.evaluated && allDown {
		return standing{z.state, 0}, z.counts
	}
	return standing{z.state, z.rate}, z.counts
}

func (m *model) evaluate(now time.Time) (changes []Change[Key]) {
	at := m.at(now)
	m.asked = nil
	before := map[Key]standing{}
	counted, full := 0, 0
	cluster, _ := m.count(nil)
	for _, k := range m.keys() {
		z := m.zones[k]
		before[k], _ = z.told(m.allDown)
		m.judge(k, cluster, at)
		if z.counts.Total > 0 {
			counted++
			if z.state == FullDisruption {
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
		_, members := m.count(&k)
		after, counts := m.zones[k].told(down)
		if members == 0 {
			delete(m.zones, k)
			after = standing{state: Initial}
		}
		if members == 0 || before[k] != after || transition != None {
			changes = append(changes, expected(k, before[k], after, counts, transition, members == 0))
		}
	}
	return changes
}

func expected(k Key, before, after standing, counts Counts, transition Transition, gone bool) Change[Key] {
	return Change[Key]{Zone: k, From: before.state, To: after.state, Rate: after.rate, Counts: counts, Cluster: transition, Gone: gone}
}

func (m *model) judge(k Key, cluster Counts, at time.Duration) {
	z := m.zones[k]
	s := Situation{Cluster: cluster, State: z.state, Before: z.before, Now: m.last}
	s.Counts, _ = m.count(&k)
	if z.evaluated {
		s.StateFor = at - z.since
	}
	if z.badSince >= 0 && s.Counts.Bad > 0 {
		s.BadFor = at - z.badSince
	}
	m.asked = append(m.asked, s)
	r := m.policy.Decide(s)
	if !z.evaluated || r.State != z.state {
		z.before, z.since = z.state, at
	}
	if s.Counts.Bad == 0 {
		z.badSince = -1
	} else if z.badSince < 0 {
		z.badSince = at
	}
	z.ask = -1
	if r.AskAfter > 0 {
		z.ask = at + r.AskAfter
	}
	z.evaluated, z.state, z.rate, z.counts = true, r.State, r.Rate, s.Counts
}

// next is when the policy wants to be asked again, as the clock shows it.
func (m *model) next(now time.Time) (time.Time, bool) {
	m.at(now)
	least := time.Duration(math.MaxInt64)
	for _, z := range m.zones {
		if z.ask >= 0 {
			least = min(least, z.ask)
		}
	}
	return m.last.Add(least - m.elapsed), least != math.MaxInt64
}

// check compares the answers of every method, and checks the tracker's invariants.
func (m *model) check(t *testing.T, tracker *Tracker[string, Key], now time.Time) {
	t.Helper()
	want := make([]Status[Key], 0, len(m.zones))
	sum := Counts{}
	for _, k := range m.keys() {
		counts, _ := m.count(&k)
		is, _ := m.zones[k].told(m.allDown)
		want = append(want, Status[Key]{Zone: k, State: is.state, Rate: is.rate, Counts: counts})
		sum.Total += counts.Total
		sum.Bad += counts.Bad
	}
	if got := tracker.Zones(); !slices.Equal(want, got) {
		require.Equal(t, want, got)
	}
	for _, s := range want {
		if got, ok := tracker.Zone(s.Zone); !ok || got != s {
			require.True(t, ok)
			require.Equal(t, s, got)
		}
	}
	if tracker.Cluster() != sum || tracker.AllDown() != m.allDown || tracker.Len() != len(m.members) {
		require.Equal(t, sum, tracker.Cluster())
		require.Equal(t, m.allDown, tracker.AllDown())
		require.Equal(t, len(m.members), tracker.Len())
	}
	for key, p := range m.members {
		if zone, member, ok := tracker.Get(key); !ok || p != (placed{zone, member}) {
			require.True(t, ok)
			require.Equal(t, p, placed{zone, member})
		}
	}
	_, known := tracker.Zone(Key{"never", "seen"})
	if _, _, ok := tracker.Get("nobody"); ok || known {
		require.Fail(t, "what was never set is there")
	}
	wantNext, wantOK := m.next(now)
	if got, ok := tracker.NextAt(now); ok != wantOK || ok && !got.Equal(wantNext) {
		require.Equal(t, wantOK, ok)
		require.Equal(t, wantNext, got)
	}
	checkInvariants(t, &tracker.domains)
	for _, r := range tracker.members.All() {
		if d := tracker.domains.byKey.Get(r.domain.key); d == nil || r.domain != *d {
			require.Fail(t, "a member in a dropped zone")
		}
	}
}

// checkInvariants checks what must hold between two calls.
func checkInvariants(t *testing.T, ds *domains[Key]) {
	t.Helper()
	holds := func(ok bool, what string) {
		if !ok {
			require.Fail(t, what)
		}
	}
	holds(slices.IsSortedFunc(ds.known, ds.order), "the known are in order")
	weights := map[weight]int{}
	for _, d := range ds.known {
		at := ds.byKey.Get(d.key)
		holds(d.observed && at != nil && *at == d, "what is known is there")
		weights[d.weight]++
	}
	holds(ds.up == weights[up] && ds.down == weights[down], "the weights are counted")
	for _, at := range ds.byKey.All() {
		d := *at
		holds(0 <= d.counts.Bad && d.counts.Bad <= d.counts.Total && d.counts.Total <= d.members, "counts add up")
		holds(d.observed || d.dirty, "a new one is looked at")
		holds(d.dirty || d.counts == d.seen && d.seen == d.decided, "what is not dirty is judged")
		holds(d.dirty == slices.Contains(ds.dirty, d), "flag and list agree")
	}
}
