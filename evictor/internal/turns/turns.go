package turns

import (
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/earliest"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/zone"
)

// Config says how fast turns come.
type Config struct {
	// Rate is that of a domain, in nodes a second, until SetRate. What is no finite number of at least 0 stops it.
	Rate float64
	// MaxRate caps all domains together; 0 is no cap.
	MaxRate float64
	// MaxFailed is how many nodes may have failed at once, those that have a turn included; 0 is any number.
	MaxFailed int
	// Prefer, when not nil, chooses who of a domain is next, see ratelimitqueue.GroupConfig, and OnPanic is told when it panics.
	Prefer  func(domain zone.Key, waiting []string) string
	OnPanic func(key, value any, stack []byte)
	// Clock is the one that all readings are of.
	Clock clock.PassiveClock
}

// Turns are the nodes that wait, those that have a turn, and those that have failed. Make one with New.
type Turns struct {
	group     *ratelimitqueue.Group[zone.Key, key, struct{}]
	taken     map[string]*Turn    // the turns that are not over, by node
	most      int                 // how many there may be at once; 0 is any number
	maxFailed int                 // 0 is any number
	failed    map[string]struct{} // nodes that count as failed and have no turn; empty where any number may
	overdue   map[string]struct{} // nodes whose pods became overdue while nothing was permitted
	waits     map[key]*earliest.One
	since     earliest.Of // of waits: since when each waits
}

// key is what waits: a node, to be acted on or, with release, to let its overdue pods go.
type key struct {
	node    string
	release bool
}

// Turn is what Take hands out. Its owner ends it once, with one of its methods; a release is over when it is handed out.
type Turn struct {
	Node    string
	Release bool

	turns  *Turns
	item   ratelimitqueue.Item[key, struct{}]
	failed bool // it counts as failed apart from its turn
}

// New returns Turns for which nobody waits.
func New(c Config) (*Turns, error) {
	if !(c.Rate > 0) || math.IsInf(c.Rate, 0) {
		c.Rate = ratelimitqueue.Stopped
	}
	config := ratelimitqueue.GroupConfig[zone.Key, key]{Rate: c.Rate, MaxRate: c.MaxRate, MaxInFlight: c.MaxFailed, Clock: c.Clock, OnPanic: c.OnPanic}
	if c.MaxRate == 0 && c.MaxFailed == 0 {
		config.Compare = zone.Key.Compare // with a cap this one would take all that it leaves
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
		group: group, maxFailed: c.MaxFailed,
		taken: make(map[string]*Turn), failed: make(map[string]struct{}), overdue: make(map[string]struct{}),
		waits: make(map[key]*earliest.One),
	}, nil
}

// SetRate sets the rate of a domain, in nodes a second. What is no finite number of at least 0 stops it. It says whether that is another rate.
func (t *Turns) SetRate(domain zone.Key, rate float64, now time.Time) (changed bool) {
	was, _ := t.group.Domain(domain)
	if t.group.SetRateAt(domain, rate, now) != nil {
		_ = t.group.SetRateAt(domain, 0, now)
	}
	is, _ := t.group.Domain(domain)
	return is.Rate != was.Rate
}

// Retire is told of a domain that has no node any more. Coming back earns it no token.
func (t *Turns) Retire(domain zone.Key) { t.group.ForgetDomain(domain) }

const notPermitted = "not permitted"

// Pause hands out nothing until Resume, and no tokens accrue meanwhile.
func (t *Turns) Pause(now time.Time) { t.group.PauseAt(notPermitted, now) }

// Resume ends Pause.
func (t *Turns) Resume(now time.Time) { t.group.ResumeAt(notPermitted, now) }

// PauseDomain is Pause for one domain or, when it is not paused, Resume.
func (t *Turns) PauseDomain(domain zone.Key, paused bool, now time.Time) {
	if paused {
		t.group.PauseDomainAt(domain, notPermitted, now)
	} else {
		t.group.ResumeDomainAt(domain, notPermitted, now)
	}
}

// AnyWaits says whether a node of the domain waits, for whatever.
func (t *Turns) AnyWaits(domain zone.Key) bool {
	st, ok := t.group.Domain(domain)
	return ok && st.Waiting > 0
}

// Limit bounds how many turns there may be at once, releases apart, which wait for them all the same; 0 is no bound.
func (t *Turns) Limit(most int) { t.most = most }

func (t *Turns) allTaken() bool { return t.most > 0 && len(t.taken) >= t.most }

// Wait lets a failed node wait in its domain, also one that had its turn. It says whether the node did not wait yet, nor has a turn.
func (t *Turns) Wait(node, uid string, domain zone.Key, now time.Time) bool {
	k := key{node: node}
	defer t.note(k)
	if st, ok := t.group.Get(k); ok && st.State == ratelimitqueue.StateKept {
		t.group.Remove(k)
	}
	switch t.group.AddEntryAt(ratelimitqueue.GroupEntry[zone.Key, key, struct{}]{Domain: domain, Key: k, Identity: uid}, now) {
	case ratelimitqueue.Added, ratelimitqueue.Replaced:
		return true
	}
	return false
}

// Waits says whether the node waits to be acted on.
func (t *Turns) Waits(node string) bool {
	st, ok := t.group.Get(key{node: node})
	return ok && st.State == ratelimitqueue.StateWaiting
}

// Leave forgets that the node waits or had its turn, and says whether it waited. A turn that it has is void, but not over.
func (t *Turns) Leave(node string) (waited bool) {
	waited = t.Waits(node)
	t.remove(key{node: node})
	return waited
}

// Move takes the node to another domain, where it keeps its place.
func (t *Turns) Move(node string, domain zone.Key) {
	t.group.Move(key{node: node}, domain)
	t.group.Move(key{node: node, release: true}, domain)
}

// Forget drops everything about a node that is gone, its turn too.
func (t *Turns) Forget(node string) {
	t.Leave(node)
	t.NotOverdue(node)
	if turn := t.taken[node]; turn != nil {
		turn.Drop()
	}
	t.Count(node, false)
}

// Overdue notes that pods of the node became overdue while nothing was permitted.
func (t *Turns) Overdue(node string) { t.overdue[node] = struct{}{} }

// IsOverdue says whether they did, and were not released since.
func (t *Turns) IsOverdue(node string) bool {
	_, ok := t.overdue[node]
	return ok
}

// AllOverdue are the nodes of which that is so, in the order of their names.
func (t *Turns) AllOverdue() []string { return slices.Sorted(maps.Keys(t.overdue)) }

// WaitToRelease lets the node wait in its domain until it may let its overdue pods go.
func (t *Turns) WaitToRelease(node, uid string, domain zone.Key, now time.Time) {
	k := key{node, true}
	t.group.AddEntryAt(ratelimitqueue.GroupEntry[zone.Key, key, struct{}]{Domain: domain, Key: k, Exempt: true, Identity: uid}, now)
	t.note(k)
}

// LeaveRelease ends that. What is overdue stays so.
func (t *Turns) LeaveRelease(node string) { t.remove(key{node, true}) }

func (t *Turns) remove(k key) {
	t.group.Remove(k)
	t.note(k)
}

// NotOverdue forgets that pods of the node are overdue.
func (t *Turns) NotOverdue(node string) {
	delete(t.overdue, node)
	t.LeaveRelease(node)
}

// Count says whether the node counts as failed apart from its turn: it does while it has one.
func (t *Turns) Count(node string, failed bool) {
	if turn := t.taken[node]; turn != nil {
		turn.failed = failed
		return
	}
	if t.maxFailed == 0 {
		return
	}
	if failed {
		t.failed[node] = struct{}{}
	} else {
		delete(t.failed, node)
	}
	t.group.SetMaxInFlight(max(0, t.maxFailed-len(t.failed)))
}

// Take hands out the next turn, if one has come. A release is over at once.
func (t *Turns) Take(now time.Time) (*Turn, bool) {
	if t.allTaken() {
		return nil, false
	}
	item, ok := t.group.TakeAt(now)
	if !ok {
		return nil, false
	}
	turn := &Turn{Node: item.Key.node, Release: item.Key.release, turns: t, item: item.Item}
	defer t.note(item.Key)
	if turn.Release {
		item.Done()
		delete(t.overdue, turn.Node)
		return turn, true
	}
	_, failed := t.failed[turn.Node]
	t.Count(turn.Node, false)
	turn.failed = failed
	t.taken[turn.Node] = turn
	return turn, true
}

// Of is the turn that the node has, nil when it has none.
func (t *Turns) Of(node string) *Turn { return t.taken[node] }

// Next is when Take hands out next if nothing changes; false when it never does as things are.
func (t *Turns) Next(now time.Time) (time.Time, bool) {
	if t.allTaken() {
		return time.Time{}, false
	}
	return t.group.NextAt(now)
}

// Served ends the turn: the node was acted on, and counts as failed.
func (t *Turn) Served() {
	t.item.Keep()
	t.over(true)
}

// Again ends the turn, of which nothing came: the node waits for another one, in its old place.
func (t *Turn) Again(now time.Time) {
	t.item.At(now).RetryAfter(0)
	t.over(t.failed)
}

// Drop ends the turn, which was not wanted any more when the node was to be acted on.
func (t *Turn) Drop() {
	t.item.Drop()
	t.over(t.failed)
}

// Later ends the turn before anything was done with it: the node waits for another one, after that long. It costs what all domains
// together may do nothing, its own one its token.
func (t *Turn) Later(wait time.Duration, now time.Time) {
	t.item.Unused().At(now).Blocked(wait)
	t.over(t.failed)
}

// Unwanted ends the turn likewise, and the node waits no more.
func (t *Turn) Unwanted(now time.Time) {
	t.item.Unused().At(now).Drop()
	t.over(t.failed)
}

func (t *Turn) over(failed bool) {
	t.turns.note(key{node: t.Node})
	if t.turns.taken[t.Node] != t {
		return
	}
	delete(t.turns.taken, t.Node)
	t.turns.Count(t.Node, failed)
}
