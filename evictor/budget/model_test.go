package budget

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

var operations = flag.Int("operations", 60_000, "how many random operations are compared with the model")

// thing is a member as the tests know it.
type thing struct {
	pool, zone      string // empty: in none
	weight          int64
	counts, bad, ok bool
}

func grouped(of func(thing) string) func(thing) (string, bool) {
	return func(th thing) (string, bool) { return of(th), of(th) != "" }
}

var dimensions = map[string]func(thing) (string, bool){
	"pool": grouped(func(th thing) string { return th.pool }),
	"zone": grouped(func(th thing) string { return th.zone }),
}

func things(bounds ...Bound) Config[string, thing] {
	return Config[string, thing]{
		Dimensions: dimensions,
		Counts:     func(th thing) bool { return th.counts },
		Bad:        func(th thing) bool { return th.bad },
		Actionable: func(th thing) bool { return th.ok },
		Weight:     func(th thing) int64 { return th.weight },
		Bounds:     bounds,
	}
}

// model is a budget that remembers everything that happened and sums it up anew for each answer.
type model struct {
	bounds  []Bound
	now     time.Duration
	things  map[string]thing
	done    map[string]doing
	by      map[string]string     // under which name it is acted on
	setBy   map[string]string     // under which name it was Set last
	acts    map[string][]modelAct // by bound and group
	breaker map[string]*breaker
	asked   bool
	modelTrials
}

type modelAct struct {
	key    string
	at     time.Duration
	weight int64
	held   bool
}

type breaker struct {
	shut, calm bool
	since      time.Duration
}

func newModel(bounds []Bound) *model {
	return &model{
		bounds: bounds, things: map[string]thing{}, done: map[string]doing{}, by: map[string]string{}, setBy: map[string]string{},
		acts: map[string][]modelAct{}, breaker: map[string]*breaker{}, modelTrials: modelTrials{events: map[string][]modelEvent{}},
	}
}

func (m *model) groupOf(dimension string, th thing) (string, bool) {
	if dimension == "" {
		return "", true
	}
	return dimensions[dimension](th)
}

// each visits the members of a group.
func (m *model) each(b *Bound, group string, visit func(key string, th thing)) {
	for key, th := range m.things {
		if g, ok := m.groupOf(b.Per, th); ok && g == group {
			visit(key, th)
		}
	}
}

func (m *model) total(b *Bound, group string) (total int64) {
	m.each(b, group, func(_ string, th thing) {
		if th.counts {
			total += th.weight
		}
	})
	return total
}

// used counts as if the candidate were acted on; "" means no candidate.
func (m *model) used(b *Bound, group, candidate string) (used int64) {
	return m.usedBy(b, group, candidate, reserved)
}

// usedBy is used with what has come at least that far.
func (m *model) usedBy(b *Bound, group, candidate string, far doing) (used int64) {
	m.each(b, group, func(key string, th thing) {
		acted := m.done[key] >= far || key == candidate
		is := map[Quantity]bool{
			Bad: th.counts && th.bad, Unavailable: th.counts && (th.bad || acted), Healthy: th.counts && !th.bad && !acted, Acting: acted,
		}
		if is[b.Of] {
			used += th.weight
		}
	})
	switch b.Of {
	case Unproven:
		return m.unproven(b, group, candidate)
	case Recent:
	default:
		return used
	}
	weights := map[string]int64{}
	for _, a := range m.acts[b.Name+"/"+group] {
		if a.held {
			weights[a.key] = max(weights[a.key], m.things[a.key].weight) // that of the last action comes back if it is given back
		} else if m.now-a.at < b.Within {
			weights[a.key] = a.weight // the last action of each member
		}
	}
	if candidate != "" {
		weights[candidate] = m.things[candidate].weight
	}
	for _, w := range weights {
		used += w
	}
	return used
}

// look makes all breakers look at all groups.
func (m *model) look() {
	m.overdue()
	for i := range m.bounds {
		b := &m.bounds[i]
		if !b.breaks() {
			continue
		}
		for name, is := range m.breaker {
			if strings.HasPrefix(name, b.Name+"/") && is.shut && is.calm && m.now-is.since >= b.Quiet {
				*is = breaker{}
			}
		}
		if !m.asked {
			continue
		}
		groups := map[string]bool{}
		for _, th := range m.things {
			if g, ok := m.groupOf(b.Per, th); ok {
				groups[g] = true
			}
		}
		for name := range m.breaker {
			if group, ok := strings.CutPrefix(name, b.Name+"/"); ok {
				groups[group] = true
			}
		}
		for g := range groups {
			is := m.breaker[b.Name+"/"+g]
			if is == nil {
				is = &breaker{}
				m.breaker[b.Name+"/"+g] = is
			}
			used, total, members := m.usedBy(b, g, "", committed), m.total(b, g), 0
			m.each(b, g, func(string, thing) { members++ })
			kept := members == 0 || b.kept(used, total)
			is.shut = is.shut || !kept
			calm := is.shut && kept
			if calm && !is.calm {
				is.since = m.now
			}
			is.calm = calm
		}
	}
}

// refusal returns the answer of one bound.
func (m *model) refusal(b *Bound, key string) *Refusal {
	th := m.things[key]
	group, ok := m.groupOf(b.Per, th)
	if b.Without != "" {
		if _, in := m.groupOf(b.Without, th); in {
			ok = false
		}
	}
	if !ok {
		return nil
	}
	r := m.compare(b, group, m.used(b, group, key))
	if r != nil && !r.Shut && (b.Of == Recent && th.weight > r.Allowed || b.Of == Unproven && r.Allowed == 0) {
		r.Again = time.Time{}
	}
	return r
}

// compare returns the answer of one bound that counts used in a group.
func (m *model) compare(b *Bound, group string, used int64) *Refusal {
	r := &Refusal{Bound: b.Name, Dimension: b.Per, Group: group, Used: used}
	total := m.total(b, group)
	most, least := b.Max.Of(total), b.Min.Of(total)
	is := m.breaker[b.Name+"/"+group]
	if b.Of == Unproven {
		width, failures, cools := m.trialOf(b, group)
		is, most, r.Failures = &breaker{failures > 0 && m.now < cools, true, cools}, min(most, width), failures
	}
	switch {
	case b.Max.isSet() && used > most:
		r.Allowed = most
		if b.Of == Recent {
			r.Again = m.firstEnd(b, group)
		}
		if first, some := m.firstOverdue(b, group); b.Of == Unproven && some {
			if is.shut {
				first = max(first, is.since)
			}
			r.Again = clockBegin.Add(first)
		}
	case b.Min.isSet() && used < least:
		r.Allowed, r.Min = least, true
	case is != nil && is.shut:
		r.Allowed, r.Min, r.Shut = max(most, least), b.Min.isSet(), true
		if is.calm && b.Of == Unproven {
			r.Again = clockBegin.Add(is.since)
		} else if is.calm {
			r.Again = clockBegin.Add(is.since + b.Quiet)
		}
	default:
		return nil
	}
	return r
}

// firstEnd returns when the first recent action is forgotten; only the last action of each member counts.
func (m *model) firstEnd(b *Bound, group string) (first time.Time) {
	last := map[string]time.Duration{}
	for _, a := range m.acts[b.Name+"/"+group] {
		if !a.held && m.now-a.at < b.Within {
			last[a.key] = a.at
		}
	}
	for _, at := range last {
		if end := clockBegin.Add(at + b.Within); first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first
}

func (m *model) reserve(name, key string) error {
	m.asked = true
	m.look()
	th, ok := m.things[key]
	switch {
	case !ok:
		return ErrUnknown
	case m.done[key] != nothing:
		return ErrActing
	case !th.ok:
		return ErrNotActionable
	}
	var first *Refusal
	again, never := time.Time{}, false
	for i := range m.bounds {
		r := m.refusal(&m.bounds[i], key)
		if r == nil {
			continue
		}
		if never = never || r.Again.IsZero(); r.Again.After(again) {
			again = r.Again
		}
		if first == nil {
			first = r
		}
	}
	if first != nil {
		if first.Again = again; never {
			first.Again = time.Time{}
		}
		return first
	}
	m.done[key], m.by[key] = reserved, name
	for i := range m.bounds {
		b := &m.bounds[i]
		m.hold(b, key, th)
		if group, ok := m.groupOf(b.Per, th); ok && b.Of == Recent {
			in := b.Name + "/" + group
			m.acts[in] = append(m.acts[in], modelAct{key: key, weight: th.weight, held: true})
		}
	}
	return nil
}

// held changes what bounds on Recent count for a reservation.
func (m *model) held(key string, change func(modelAct) (modelAct, bool)) {
	for name, acts := range m.acts {
		var next []modelAct
		for _, a := range acts {
			keep := true
			if a.key == key && a.held {
				a, keep = change(a)
			}
			if keep {
				next = append(next, a)
			}
		}
		m.acts[name] = next
	}
}

// adopt says that an action began that long ago.
func (m *model) adopt(name, key string, ago time.Duration) bool {
	th, ok := m.things[key]
	switch {
	case !ok || m.done[key] != nothing && m.by[key] != name:
		return false
	case m.done[key] == committed:
		return true
	}
	m.held(key, func(a modelAct) (modelAct, bool) { return a, false })
	m.begun(key)
	m.done[key], m.by[key] = committed, name
	for i := range m.bounds {
		b := &m.bounds[i]
		if group, ok := m.groupOf(b.Per, th); ok && b.Of == Recent {
			in := b.Name + "/" + group
			m.acts[in] = append(m.acts[in], modelAct{key, m.now - ago, th.weight, false})
			slices.SortStableFunc(m.acts[in], func(a, b modelAct) int { return cmp.Compare(a.when(), b.when()) })
		}
	}
	return true
}

// end says that nothing is done to the member under that name.
func (m *model) end(name, key string) bool {
	was := m.done[key]
	if was == nothing || m.by[key] != name {
		return false
	}
	if was == reserved {
		m.giveBack(key)
	}
	delete(m.done, key)
	return true
}

// when returns when the action began; a reserved action comes after all that have begun.
func (a modelAct) when() time.Duration {
	if a.held {
		return math.MaxInt64
	}
	return a.at
}

// exceeded returns the first bound that is not kept now.
func (m *model) exceeded(key string) (all []*Refusal) {
	th, ok := m.things[key]
	if !ok {
		return nil
	}
	m.asked = true
	m.look()
	for i := range m.bounds {
		b := &m.bounds[i]
		group, in := m.groupOf(b.Per, th)
		if _, without := m.groupOf(b.Without, th); !in || b.Without != "" && without {
			continue
		}
		if r := m.compare(b, group, m.used(b, group, "")); r != nil {
			all = append(all, r)
		}
	}
	return all
}

func (m *model) giveBack(key string) {
	for i := range m.bounds {
		m.unhold(&m.bounds[i], key)
	}
	m.held(key, func(a modelAct) (modelAct, bool) { return a, false })
	delete(m.done, key)
}

func (m *model) commit(key string) {
	m.begun(key)
	m.held(key, func(a modelAct) (modelAct, bool) { return modelAct{a.key, m.now, m.things[key].weight, false}, true })
	m.done[key] = committed
}

func (m *model) set(name, key string, th thing) {
	was, known := m.things[key]
	m.things[key], m.setBy[key] = th, name
	if !known || m.done[key] != reserved {
		return
	}
	for i := range m.bounds {
		b := &m.bounds[i]
		from, ok := m.groupOf(b.Per, was)
		to, in := m.groupOf(b.Per, th)
		if ok == in && from == to {
			continue
		}
		m.unhold(b, key)
		m.hold(b, key, th)
		if b.Of != Recent {
			continue
		}
		if ok {
			var left []modelAct
			for _, a := range m.acts[b.Name+"/"+from] {
				if a.key != key || !a.held {
					left = append(left, a)
				}
			}
			m.acts[b.Name+"/"+from] = left
		}
		if in {
			m.acts[b.Name+"/"+to] = append(m.acts[b.Name+"/"+to], modelAct{key: key, weight: was.weight, held: true})
		}
	}
}

func (m *model) remove(key string) {
	if m.done[key] == reserved {
		m.begun(key)
		m.held(key, func(a modelAct) (modelAct, bool) { return modelAct{a.key, m.now, m.things[key].weight, false}, true })
	}
	delete(m.things, key)
	delete(m.setBy, key)
	delete(m.done, key)
}

var clockBegin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rules are bounds of every kind, drawn at random.
func rules(r *rand.Rand) (bounds []Bound) {
	limit := func() Limit {
		switch r.Intn(3) {
		case 0:
			return Count(int64(r.Intn(6)))
		case 1:
			return Percent(float64(r.Intn(101)))
		}
		return Percent(float64(r.Intn(101))).Up().AtLeast(int64(r.Intn(4)))
	}
	for i := range 1 + r.Intn(6) {
		b := Bound{Name: fmt.Sprint("b", i), Per: []string{"", "pool", "zone"}[r.Intn(3)], Without: []string{"", "", "", "pool"}[r.Intn(4)]}
		switch kind := r.Intn(9); kind {
		case 0, 1:
			b.Of, b.Max, b.Within = Recent, limit(), time.Duration(1+r.Intn(30))*time.Second
		case 2:
			b.Of, b.Max = Acting, limit()
		case 3:
			b.Of, b.Min, b.Max = Bad, Count(int64(r.Intn(2))), Count(int64(1+r.Intn(5)))
		case 7, 8:
			b.Of, b.Max, b.Unjudged = Unproven, limit(), Outcome(1+r.Intn(3))
			b.Within, b.Quiet = time.Duration(1+r.Intn(40))*time.Second, time.Duration(1+r.Intn(60))*time.Second
			if r.Intn(4) > 0 {
				b.Cooldown, b.MaxCooldown = time.Duration(1+r.Intn(9))*time.Second, time.Duration(r.Intn(40))*time.Second
			}
		default:
			b.Of = []Quantity{Bad, Unavailable, Healthy}[r.Intn(3)]
			if r.Intn(2) == 0 {
				b.Max = limit()
			} else {
				b.Min = limit()
			}
			if kind > 4 {
				b.Quiet = time.Duration(1+r.Intn(20)) * time.Second
			}
		}
		bounds = append(bounds, b)
	}
	return bounds
}

func TestAgainstAModel(t *testing.T) {
	const steps = 300
	refused := 0
	for seed := range int64(*operations / steps) {
		r := rand.New(rand.NewSource(seed))
		life := &life{t: t, r: r, seed: seed, bounds: rules(r), clock: clocktesting.NewFakeClock(clockBegin), held: map[string]Reservation[string]{}, keys: 3 + 9*r.Intn(2)}
		life.model = newModel(life.bounds)
		life.begin()
		every := []int{1, 10, 100}[r.Intn(3)] // to check brings groups up to date, which nothing may need
		for range steps {
			life.step()
			if life.model.look(); r.Intn(every) == 0 {
				life.check()
			}
		}
		refused += life.refused
	}
	require.Greater(t, refused, *operations/50)
}

type life struct {
	t       *testing.T
	r       *rand.Rand
	seed    int64
	bounds  []Bound
	clock   *clocktesting.FakeClock
	budget  *Budget[string, thing]
	model   *model
	held    map[string]Reservation[string]
	keys    int
	refused int
}

func (l *life) begin() {
	config := things(l.bounds...)
	config.Clock = l.clock
	var err error
	l.budget, err = New(config)
	require.NoError(l.t, err)
}

func (l *life) key() string { return fmt.Sprint("m", l.r.Intn(l.keys)) }

func (l *life) name() string { return []string{"", "", "evictor"}[l.r.Intn(3)] }

func (l *life) step() {
	key, name := l.key(), l.name()
	as := l.budget.As(name)
	switch l.r.Intn(17) {
	case 15, 16:
		is := Outcome(1 + l.r.Intn(3))
		require.Equal(l.t, l.model.judge(key, is), as.Judge(key, is), "life %d", l.seed)
	case 14:
		require.Equal(l.t, l.model.end(name, key), as.End(key), "life %d", l.seed)
	case 12:
		ago := time.Duration(l.r.Intn(30)-2) * time.Second
		began, idle := l.clock.Now().Add(-ago), l.model.done[key] == nothing
		adopted := l.model.adopt(name, key, max(0, ago))
		require.Equal(l.t, adopted, as.Adopt(key, began), "life %d", l.seed)
		if r, ok := l.held[key]; ok && idle && adopted {
			require.False(l.t, r.Commit() || r.GiveBack() || r.End(), "it has no part in this")
			delete(l.held, key)
		}
	case 13:
		require.Equal(l.t, l.model.exceeded(key), l.budget.Exceeded(key), "life %d: %v", l.seed, l.bounds)
	case 0, 1, 2:
		th := thing{
			pool: []string{"", "p", "q"}[l.r.Intn(3)], zone: []string{"a", "b", ""}[l.r.Intn(3)], weight: int64(l.r.Intn(4)),
			counts: l.r.Intn(5) > 0, bad: l.r.Intn(3) == 0, ok: l.r.Intn(8) > 0,
		}
		if was, ok := l.model.things[key]; ok && l.r.Intn(2) == 0 {
			th = was
			th.bad = !th.bad
		}
		if l.r.Intn(20) == 0 {
			th.weight = math.MaxInt64
		}
		as.Set(key, th)
		th.weight = min(th.weight, 1<<40)
		l.model.set(name, key, th)
	case 3:
		_, known := l.model.things[key]
		require.Equal(l.t, known, l.budget.Remove(key))
		l.model.remove(key)
		if r, ok := l.held[key]; ok {
			require.False(l.t, r.Commit() || r.GiveBack() || r.End())
			delete(l.held, key)
		}
	case 4, 5, 6:
		reservation, err := as.Reserve(key)
		want := l.model.reserve(name, key)
		require.Equal(l.t, want, err, "life %d: %v", l.seed, l.bounds)
		if err == nil {
			l.held[key] = reservation
		}
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			l.refused++
			next, ok := l.budget.Next()
			require.True(l.t, refusal.Again.IsZero() || ok && !next.After(refusal.Again))
			require.NotEmpty(l.t, refusal.Error())
		}
	case 7, 8:
		l.finish(l.anyHeld())
	case 9, 10:
		d := time.Duration(l.r.Intn(12)) * time.Second
		l.clock.Step(d)
		l.model.now += d
		if next, ok := l.budget.Next(); ok {
			require.True(l.t, next.After(l.clock.Now()))
		}
	default:
		if l.r.Intn(5) == 0 {
			l.restart()
		}
	}
}

func (l *life) anyHeld() (key string, some bool) {
	keys := slices.Sorted(maps.Keys(l.held))
	if len(keys) == 0 {
		return "", false
	}
	return keys[l.r.Intn(len(keys))], true
}

// finish ends a reservation in one of the ways there are, if it goes on. A reservation of which the name was told that it
// is over, or that its action goes on, may still be held.
func (l *life) finish(key string, some bool) {
	if !some {
		return
	}
	r, done := l.held[key], l.model.done[key]
	switch l.r.Intn(3) {
	case 0:
		require.Equal(l.t, done == reserved, r.Commit())
		if done == reserved {
			l.model.commit(key)
		}
	case 1:
		require.Equal(l.t, done == reserved, r.GiveBack())
		if done == reserved {
			l.model.giveBack(key)
		}
	default:
		require.Equal(l.t, done == committed, r.End())
		if done == committed {
			delete(l.model.done, key)
		}
	}
}

// restart continues from a snapshot. Reservations are given back, and members that disappear meanwhile are gone.
func (l *life) restart() {
	text, err := json.Marshal(l.budget.Snapshot())
	require.NoError(l.t, err)
	for key, done := range maps.Clone(l.model.done) {
		if done == reserved {
			l.model.giveBack(key)
		}
	}
	l.held, l.model.asked = map[string]Reservation[string]{}, false
	l.begin()
	var s Snapshot[string]
	require.NoError(l.t, json.Unmarshal(text, &s))
	require.NoError(l.t, l.budget.Restore(s))
	again, err := json.Marshal(l.budget.Snapshot())
	require.NoError(l.t, err)
	require.JSONEq(l.t, string(text), string(again), "life %d", l.seed)
	for key, th := range l.model.things {
		if l.r.Intn(4) == 0 { // before the member is Set again
			name := l.name()
			require.Equal(l.t, l.model.end(name, key), l.budget.As(name).End(key), "life %d", l.seed)
		}
		l.budget.Set(key, th)
		l.model.setBy[key] = ""
	}
}

func (l *life) check() {
	b, m := l.budget, l.model
	require.Equal(l.t, len(m.things), b.Len())
	for _, name := range []string{"", "evictor"} {
		keys := b.As(name).Keys()
		for key, by := range m.setBy {
			if slices.Contains(keys, key) != (by == name) {
				require.Fail(l.t, "Keys", "life %d: %s", l.seed, key)
			}
		}
	}
	var unmatched []string
	for i := range l.bounds {
		is, matched := &l.bounds[i], len(m.things) == 0
		for _, th := range m.things {
			_, in := m.groupOf(is.Per, th)
			matched = matched || in
		}
		if !matched {
			unmatched = append(unmatched, is.Name)
		}
		for _, group := range b.Groups(is.Per) {
			st, ok := b.Status(is.Name, group)
			require.True(l.t, ok)
			want := Status{Used: m.used(is, group, ""), Total: m.total(is, group), Max: -1, Min: -1}
			if is.Max.isSet() {
				want.Max = is.Max.Of(want.Total)
			}
			if is.Of == Unproven {
				width, failures, cools := m.trialOf(is, group)
				want.Max, want.Shut = min(want.Max, width), failures > 0 && m.now < cools
			}
			if is.Min.isSet() {
				want.Min = is.Min.Of(want.Total)
			}
			if is.breaks() {
				want.Shut = m.breaker[is.Name+"/"+group] != nil && m.breaker[is.Name+"/"+group].shut
			}
			require.Equal(l.t, want, st, "life %d: %s of %q: %v", l.seed, is.Name, group, l.bounds)
		}
	}
	require.Equal(l.t, unmatched, b.Unmatched())
	tried := map[string]bool{}
	for _, is := range m.tries {
		tried[is.key] = true
	}
	require.Len(l.t, b.attempts, len(tried), "life %d: what is over is forgotten", l.seed)
}
