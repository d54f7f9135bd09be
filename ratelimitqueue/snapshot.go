package ratelimitqueue

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// snapshotVersion is the version that Snapshot writes and Restore reads.
const snapshotVersion = 1

// Snapshot is a queue as plain data. It can be restored in another process, and encodes to JSON if K and V do. It holds
// ages and remaining times, not instants: time between Snapshot and Restore does not count.
type Snapshot[K comparable, V any] struct {
	// Version is 1.
	Version int `json:"version"`
	// Rate is 0 if the queue is stopped.
	Rate float64 `json:"rate"`
	// Tokens is what the bucket held TokensAge ago; what has accrued since is not included.
	Tokens    float64              `json:"tokens"`
	TokensAge time.Duration        `json:"tokensAge"`
	Pauses    []string             `json:"pauses,omitempty"`
	Items     []SnapshotItem[K, V] `json:"items"`
}

// SnapshotItem is one known key. After a restore nobody holds an item that was in flight, so its fields are already those
// with which it will wait again: as if its holder had ended it with Blocked(0). State still says that it was in flight.
type SnapshotItem[K comparable, V any] struct {
	Key      K      `json:"key"`
	Value    V      `json:"value"`
	Identity string `json:"identity,omitempty"`
	State    State  `json:"state"`
	// Waited is how long ago it was added. In is how long it is until it is due, negative if it is overdue.
	Waited time.Duration `json:"waited"`
	In     time.Duration `json:"in"`
	// Place orders items that are due at the same time: lower ones go first.
	Place uint64 `json:"place,omitempty"`
	// PutOff is by how much tries have put it off since it was added; Attempts is how many tries failed.
	PutOff   time.Duration `json:"putOff,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// Snapshot returns the queue with every known key, ordered by due time.
func (q *Queue[K, V]) Snapshot() Snapshot[K, V] { return q.SnapshotAt(q.clock.Now()) }

// SnapshotAt is Snapshot at that reading of the clock.
func (q *Queue[K, V]) SnapshotAt(now time.Time) Snapshot[K, V] {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.time.Read(now)
	b := &q.lines[0].bucket
	s := Snapshot[K, V]{
		Version: snapshotVersion, Rate: b.rate, Tokens: b.tokens, TokensAge: b.age(at), Pauses: slices.Clone(q.pauses),
	}
	numbers := q.numbers(at)
	s.Items = make([]SnapshotItem[K, V], len(numbers))
	for n, i := range numbers {
		s.Items[n] = q.snapshotItem(i, at)
	}
	return s
}

// Restore loads a snapshot into a queue that knows no key: items, rate, tokens and pauses. Items that were in flight wait
// again. The queue then decides as the original would have if its clock had stood still in between and all its holders
// had ended with Blocked(0). It is an error, and nothing has changed, if the queue knows a key, if the Version is
// unknown, or if the snapshot has a fault, such as a key that appears twice.
func (q *Queue[K, V]) Restore(s Snapshot[K, V]) error { return q.RestoreAt(s, q.clock.Now()) }

// RestoreAt is Restore at that reading of the clock.
func (q *Queue[K, V]) RestoreAt(s Snapshot[K, V], now time.Time) error {
	item := func(n int) *SnapshotItem[K, V] { return &s.Items[n] }
	err := errors.Join(checkVersion(s.Version), checkRate(s.Rate), checkTokens(s.Tokens, s.TokensAge), checkPauses(s.Pauses), checkItems(len(s.Items), item))
	order := byPlace(len(s.Items), item)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err = errors.Join(err, q.checkEmpty()); err != nil {
		return fmt.Errorf("ratelimitqueue: cannot restore: %w", err)
	}
	at := q.time.Read(now)
	q.restorePauses(s.Pauses, at)
	q.lines[0].bucket.restore(s.Rate, s.Tokens, s.TokensAge, at)
	for _, n := range order {
		q.restoreItem(item(n), 0, false, at)
	}
	q.kick()
	return nil
}

// numbers returns the numbers of the known keys, ordered by due time as in the snapshot, then by place. c.mu is held.
func (c *core[K, V]) numbers(now int64) []int32 {
	numbers := make([]int32, 0, c.counts[StateWaiting]+c.counts[StateInFlight]+c.counts[StateKept])
	c.records.Each(func(i int32, r *record[V]) {
		if r.state != 0 {
			numbers = append(numbers, i)
		}
	})
	slices.SortFunc(numbers, func(a, b int32) int {
		x, _ := c.records.At(a).unheld(now)
		y, _ := c.records.At(b).unheld(now)
		return x.byDue(&y)
	})
	return numbers
}

// byDue compares by due time and place.
func (r *record[V]) byDue(other *record[V]) int {
	if r.due != other.due {
		return cmp.Compare(r.due, other.due)
	}
	return cmp.Compare(r.seq, other.seq)
}

// unheld returns the record as it would wait if its holder, if any, ended with Blocked(0), and the due time that was
// asked for.
func (r *record[V]) unheld(now int64) (waiting record[V], asked int64) {
	waiting, asked = *r, r.asked()
	if r.state != StateInFlight {
		return waiting, asked
	}
	waiting.due = now
	if n := r.tried.newer; n != nil && !n.policy.keeps(asked, n.due) {
		waiting.value, waiting.due, waiting.exempt, asked = n.value, n.due, n.exempt, n.due
	}
	return waiting, asked
}

func (c *core[K, V]) snapshotItem(i int32, now int64) SnapshotItem[K, V] {
	r, asked := c.records.At(i).unheld(now)
	item := SnapshotItem[K, V]{
		Key: c.records.Key(i), Value: r.value, Identity: r.identity, State: r.state,
		Waited: time.Duration(steady.Sub(now, r.added)), In: time.Duration(steady.Sub(r.due, now)),
		Place: r.seq, PutOff: time.Duration(steady.Sub(r.due, asked)),
	}
	if r.tried != nil {
		item.Attempts = int(r.tried.attempts)
	}
	return item
}

func checkVersion(version int) error {
	if version != snapshotVersion {
		return fmt.Errorf("its version is %d, not %d", version, snapshotVersion)
	}
	return nil
}

// checkEmpty returns an error if a key is known. c.mu is held.
func (c *core[K, V]) checkEmpty() error {
	if c.counts[StateWaiting]+c.counts[StateInFlight]+c.counts[StateKept] > 0 {
		return errors.New("it holds keys already")
	}
	return nil
}

func checkPauses(reasons []string) error {
	sorted := slices.Clone(reasons)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) < len(reasons) {
		return errors.New("a reason to pause appears twice")
	}
	return nil
}

func checkTokens(tokens float64, age time.Duration) error {
	if math.IsNaN(tokens) || math.IsInf(tokens, 0) || tokens < -1 || age < 0 {
		return fmt.Errorf("invalid tokens: %v tokens, %v ago", tokens, age)
	}
	return nil
}

// checkItems looks for faults in the n items that at returns.
func checkItems[K comparable, V any](n int, at func(n int) *SnapshotItem[K, V]) error {
	seen := make(map[K]struct{}, n)
	for i := range n {
		it := at(i)
		if _, twice := seen[it.Key]; twice {
			return fmt.Errorf("key %v appears twice", it.Key)
		}
		seen[it.Key] = struct{}{}
		if it.State == 0 || it.State >= states {
			return fmt.Errorf("key %v: %v is not a valid state", it.Key, it.State)
		}
		if it.PutOff < 0 || it.Attempts < 0 || it.Attempts > math.MaxInt32 {
			return fmt.Errorf("key %v: invalid: put off by %s, %d attempts", it.Key, it.PutOff, it.Attempts)
		}
	}
	return nil
}

// byPlace returns the order in which to restore the items so that they get their places back.
func byPlace[K comparable, V any](n int, at func(n int) *SnapshotItem[K, V]) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a).Place, at(b).Place) })
	return order
}

// restorePauses adds the reasons. c.mu is held.
func (c *core[K, V]) restorePauses(reasons []string, now int64) {
	for _, reason := range reasons {
		c.pause(reason, now)
	}
}

// age returns how long ago the tokens were noted.
func (b *bucket) age(now int64) time.Duration { return time.Duration(steady.Sub(now, b.at)) }

// restore sets rate and tokens.
func (b *bucket) restore(rate, tokens float64, age time.Duration, now int64) {
	b.rate, b.tokens, b.at = max(rate, 0), min(tokens, b.burst), steady.Sub(now, int64(age))
	b.empty()
}

// restoreItem adds the item to the line, waiting or kept. c.mu is held.
func (c *core[K, V]) restoreItem(it *SnapshotItem[K, V], line int32, exempt bool, now int64) {
	i, _ := c.records.Insert(it.Key)
	r := c.records.At(i)
	r.line = line
	c.fresh(i, r, it.Value, it.Identity, steady.Sub(now, int64(it.Waited)), steady.Add(now, it.In), exempt)
	if it.PutOff > 0 || it.Attempts > 0 {
		t := c.try(r)
		t.asked, t.attempts = steady.Sub(r.due, int64(it.PutOff)), int32(it.Attempts)
	}
	if it.State == StateKept {
		c.unqueue(i, r)
		c.keep(r)
	}
}
