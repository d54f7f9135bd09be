package turns

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// Config says how fast turns come.
type Config struct {
	// Rate is a domain's rate, in nodes a second, until SetRate. NaN, infinite and negative rates stop it, as 0 does.
	Rate float64
	// MaxRate caps all domains together; 0 means no cap.
	MaxRate float64
	// MaxActed caps how many nodes may be acted on at once, including those that have a turn; 0 means no cap.
	MaxActed int
	// Prefer, if not nil, chooses the next node of a domain, see ratelimitqueue.GroupConfig. OnPanic is called if it
	// panics.
	Prefer  func(domain zone.Key, waiting []string) string
	OnPanic func(key, value any, stack []byte)
}

// Turns holds the nodes that wait, those that have a turn, and those that are acted on. Make one with New.
type Turns struct {
	group    *ratelimitqueue.Group[zone.Key, key, struct{}]
	read     *reading
	taken    map[string]*Turn // the turns that are not over, by node
	most     int              // cap on taken; 0 means none
	maxActed int              // 0 means no cap
	counted  map[string]bool  // nodes that count as acted on and have no turn; empty without a cap
	overdue  map[string]bool  // nodes whose pods became overdue while nothing was permitted
	waits    map[key]*earliest.One
	since    earliest.Of // since when each of waits has waited
}

// reading is the clock of the queue: it shows the owner's last reading.
type reading struct{ time.Time }

func (r *reading) Now() time.Time                  { return r.Time }
func (r *reading) Since(t time.Time) time.Duration { return r.Sub(t) }

// key is what waits: a node to be acted on or, with release, to release its overdue pods.
type key struct {
	node    string
	release bool
}

// Turn is what Take hands out. Its owner ends it once, with one of its methods; a release is already over.
type Turn struct {
	Node    string
	Release bool

	turns   *Turns
	item    ratelimitqueue.Item[key, struct{}]
	counted bool // the node counts as acted on even without the turn
}

// New returns Turns in which no node waits. now is a first reading of the clock.
func New(c Config, now time.Time) (*Turns, error) {
	if !(c.Rate > 0) || math.IsInf(c.Rate, 0) {
		c.Rate = 0
	}
	read := &reading{now}
	config := ratelimitqueue.GroupConfig[zone.Key, key]{
		Config:  ratelimitqueue.Config{Rate: c.Rate, Clock: read, OnPanic: c.OnPanic},
		MaxRate: c.MaxRate, MaxInFlight: c.MaxActed,
	}
	if c.MaxRate == 0 && c.MaxActed == 0 {
		config.Compare = zone.Key.Compare // not with a cap: the first domain would take all that the cap leaves
	}
	if c.Prefer != nil {
		config.Prefer = func(domain zone.Key, due []key) key {
			names := make([]string, len(due))
			for i := range due {
				names[i] = due[i].node
			}
			return key{node: c.Prefer(domain, names)}
		}
	}
	group, err := ratelimitqueue.NewGroup[zone.Key, key, struct{}](config)
	if err != nil {
		return nil, err
	}
	return &Turns{
		group: group, read: read, maxActed: c.MaxActed,
		taken: make(map[string]*Turn), counted: make(map[string]bool), overdue: make(map[string]bool),
		waits: make(map[key]*earliest.One),
	}, nil
}

// SetRate sets the rate of a domain, in nodes a second, and says whether it has changed. NaN, infinite and negative rates
// stop the domain, as 0 does.
func (t *Turns) SetRate(domain zone.Key, rate float64, now time.Time) (changed bool) {
	t.read.Time = now
	was, _ := t.group.Domain(domain)
	if t.group.SetRate(domain, rate) != nil {
		_ = t.group.SetRate(domain, 0)
	}
	is, _ := t.group.Domain(domain)
	return is.Rate != was.Rate
}

// Retire is called when a domain has no nodes left. If it comes back, it gets no token for that.
func (t *Turns) Retire(domain zone.Key) { t.group.ForgetDomain(domain) }

const notPermitted = "not permitted"

// Pause stops Take until Resume. No tokens accrue meanwhile.
func (t *Turns) Pause(now time.Time) {
	t.read.Time = now
	t.group.Pause(notPermitted)
}

// Resume ends Pause.
func (t *Turns) Resume(now time.Time) {
	t.read.Time = now
	t.group.Resume(notPermitted)
}

// PauseDomain pauses one domain or, if paused is false, resumes it.
func (t *Turns) PauseDomain(domain zone.Key, paused bool, now time.Time) {
	t.read.Time = now
	if paused {
		t.group.PauseDomain(domain, notPermitted)
	} else {
		t.group.ResumeDomain(domain, notPermitted)
	}
}

// AnyWaits says whether any node of the domain waits, to be acted on or to release.
func (t *Turns) AnyWaits(domain zone.Key) bool {
	st, _ := t.group.Domain(domain)
	return st.Waiting > 0
}

// Limit bounds how many turns may be out at once; 0 means no bound. Releases do not count, but none is handed out either
// while the bound is reached.
func (t *Turns) Limit(most int) { t.most = most }

func (t *Turns) allTaken() bool { return t.most > 0 && len(t.taken) >= t.most }

// Wait makes a failed node wait in its domain. It returns false if the node already waits or has a turn.
func (t *Turns) Wait(node, uid string, domain zone.Key, now time.Time) bool {
	was := t.add(key{node: node}, uid, domain, now)
	return was == ratelimitqueue.Unknown || was == ratelimitqueue.OtherIdentity
}

func (t *Turns) add(k key, uid string, domain zone.Key, now time.Time) ratelimitqueue.State {
	defer t.note(k)
	t.read.Time = now
	return t.group.AddEntry(domain, ratelimitqueue.Entry[key, struct{}]{Key: k, Exempt: k.release, Identity: uid, OnDuplicate: ratelimitqueue.KeepFirst})
}

// Waits says whether the node waits to be acted on.
func (t *Turns) Waits(node string) bool { return t.waits[key{node: node}] != nil }

// Leave ends the waiting of a node, and says whether it waited. A turn that it has is void, but not over.
func (t *Turns) Leave(node string) (waited bool) {
	waited = t.Waits(node)
	t.remove(key{node: node})
	return waited
}

// Move moves the node to another domain, where it keeps its place.
func (t *Turns) Move(node string, domain zone.Key) {
	t.group.Move(key{node: node}, domain)
	t.group.Move(key{node: node, release: true}, domain)
}

// Forget drops everything about a node that is gone, including its turn.
func (t *Turns) Forget(node string) {
	t.Leave(node)
	t.NotOverdue(node)
	if turn := t.taken[node]; turn != nil {
		turn.Drop()
	}
	t.Count(node, false)
}

// Overdue records that pods of the node became overdue while evicting them was not permitted.
func (t *Turns) Overdue(node string) { t.overdue[node] = true }

// IsOverdue says whether the node has overdue pods that were not released yet.
func (t *Turns) IsOverdue(node string) bool { return t.overdue[node] }

// AllOverdue returns the nodes with overdue pods, sorted by name.
func (t *Turns) AllOverdue() []string { return slices.Sorted(maps.Keys(t.overdue)) }

// WaitToRelease makes the node wait in its domain until it may release its overdue pods.
func (t *Turns) WaitToRelease(node, uid string, domain zone.Key, now time.Time) {
	t.add(key{node, true}, uid, domain, now)
}

// LeaveRelease ends WaitToRelease. The pods stay overdue.
func (t *Turns) LeaveRelease(node string) { t.remove(key{node, true}) }

func (t *Turns) remove(k key) {
	t.group.Remove(k)
	t.note(k)
}

// NotOverdue forgets that the node has overdue pods.
func (t *Turns) NotOverdue(node string) {
	delete(t.overdue, node)
	t.LeaveRelease(node)
}

// Count records whether the node counts as acted on; while it has a turn it counts anyway.
func (t *Turns) Count(node string, acted bool) {
	if turn := t.taken[node]; turn != nil {
		turn.counted = acted
		return
	}
	if t.maxActed == 0 {
		return
	}
	if acted {
		t.counted[node] = true
	} else {
		delete(t.counted, node)
	}
	t.group.SetMaxInFlight(max(0, t.maxActed-len(t.counted)))
}

// Take hands out the next turn, if one has come. A release is over at once.
func (t *Turns) Take(now time.Time) (*Turn, bool) {
	if t.allTaken() {
		return nil, false
	}
	t.read.Time = now
	_, item, ok := t.group.Take()
	if !ok {
		return nil, false
	}
	turn := &Turn{Node: item.Key.node, Release: item.Key.release, turns: t, item: item}
	defer t.note(item.Key)
	if turn.Release {
		item.Forget()
		delete(t.overdue, turn.Node)
		return turn, true
	}
	turn.counted = t.counted[turn.Node]
	t.Count(turn.Node, false) // now its turn counts
	t.taken[turn.Node] = turn
	return turn, true
}

// Of returns the turn that the node has, or nil.
func (t *Turns) Of(node string) *Turn { return t.taken[node] }

// Next returns when Take next hands out a turn if nothing changes; false if never, as things are.
func (t *Turns) Next(now time.Time) (time.Time, bool) {
	if t.allTaken() {
		return time.Time{}, false
	}
	t.read.Time = now
	return t.group.Next()
}

// Valid says whether the turn is still good: it is void once the node has left.
func (t *Turn) Valid() bool { return t.item.Held() }

// Served ends the turn: the node was acted on, and counts as that.
func (t *Turn) Served() {
	t.item.Forget()
	t.over(true)
}

// Again ends a turn of which nothing came: the node waits for another one, in its old place.
func (t *Turn) Again(now time.Time) {
	t.turns.read.Time = now
	t.item.RetryAfter(0)
	t.over(t.counted)
}

// Drop ends a turn that is no longer wanted; it is spent. The node no longer waits.
func (t *Turn) Drop() {
	t.item.Forget()
	t.over(t.counted)
}

// Later gives an unused turn back, for the next in line; the node waits again, from that long on.
func (t *Turn) Later(wait time.Duration, now time.Time) {
	t.turns.read.Time = now
	t.item.Blocked(wait)
	t.over(t.counted)
}

func (t *Turn) over(acted bool) {
	t.turns.note(key{node: t.Node})
	if t.turns.taken[t.Node] != t {
		return
	}
	delete(t.turns.taken, t.Node)
	t.turns.Count(t.Node, acted)
}
