package timedworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

// life is a Set with three workers, as Run has them but without its goroutines: when they begin and end is told.
type life struct {
	*Set[string, int]
	clock   *clockcases.Clock
	mono    bool
	workers []*try[string, int]
}

func newLife(t testing.TB, mono bool) *life {
	l := &life{clock: clockcases.New(mono), mono: mono}
	var err error
	l.Set, err = New(func(_ context.Context, w Work[string, int]) Result { return outcomeOf(w) }, Config{
		Clock: l.clock, Backoff: Backoff{Initial: time.Second, Max: 4 * time.Second},
	})
	require.NoError(t, err)
	for range 3 {
		l.workers = append(l.workers, new(try[string, int]))
	}
	return l
}

// outcomeOf makes of each try the same in every life.
func outcomeOf(w Work[string, int]) Result {
	switch (w.Value + w.Attempts) % 6 {
	case 0:
		return Retry(nil)
	case 1:
		return RetryAfter(time.Duration(w.Value%4) * time.Second)
	case 2:
		return Blocked(time.Duration(w.Value%3) * time.Second)
	case 3:
		return Retry(errors.New("failed"))
	}
	return Done()
}

// begin lets a worker claim what is due, if one is idle.
func (l *life) begin() string {
	i := slices.IndexFunc(l.workers, func(t *try[string, int]) bool { return !t.running })
	if i < 0 || !l.advance(context.Background(), l.workers[i]) {
		return "nothing"
	}
	t := l.workers[i]
	l.workers = append(slices.Delete(l.workers, i, i+1), t)
	w := t.work
	return fmt.Sprint(l.tell(w), w.Due.Sub(l.clock.Now()))
}

// end lets the work that began first end.
func (l *life) end(result func(Work[string, int]) Result) string {
	i := slices.IndexFunc(l.workers, func(t *try[string, int]) bool { return t.running })
	if i < 0 {
		return "nothing"
	}
	first := l.workers[i]
	l.workers = append(slices.Delete(l.workers, i, i+1), first) // who begins comes last
	text := l.tell(first.work)
	first.ending = result(first.work).ending
	first.work.hold.Delay(&first.ending, first.work.Key)
	l.abandon(first)
	return text
}

func (l *life) tell(w Work[string, int]) string {
	return fmt.Sprint(w.Key, w.Identity, w.Value, w.Attempts, w.Held())
}

// step is a whole Step, for which no worker may be busy.
func (l *life) step() string {
	for l.end(outcomeOf) != "nothing" {
	}
	ran, err := l.Step(context.Background())
	return fmt.Sprint(ran, err)
}

func (l *life) pass(d time.Duration) {
	l.clock.Pass(d)
	l.Next()
}

// setWall sets it back where forward would be time.
func (l *life) setWall(by time.Duration) {
	if !l.mono {
		by = min(by, -by)
	}
	l.clock.Set(by)
	l.Next()
}

func (l *life) seen() string {
	next, some := l.Next()
	text, err := json.Marshal(l.Snapshot())
	return fmt.Sprint(l.Len(), some, some && next.Sub(l.clock.Now()) > 0, l.Wait(), string(text), err)
}

// operation is something that is done to a life, and what that answers. Two lives that are the same answer the same.
func operation(r *rand.Rand) func(*life) string {
	key, identity := string("abcdef"[r.Intn(6)]), []string{"", "1", "2"}[r.Intn(3)]
	seconds := time.Duration(r.Intn(8)-1) * time.Second
	value, policy := r.Intn(1000), Duplicate(r.Intn(3))
	switch r.Intn(16) {
	case 0, 1, 2, 3, 4:
		return func(l *life) string {
			e := Entry[string, int]{Key: key, Identity: identity, Value: value, Due: l.clock.Wall().Add(seconds), OnDuplicate: policy}
			return l.ScheduleEntry(e).String()
		}
	case 5:
		return func(l *life) string { return l.CancelIdentity(key, identity).String() }
	case 6, 7, 8:
		return (*life).begin
	case 9, 10:
		return func(l *life) string { return l.end(outcomeOf) }
	case 11, 12:
		return func(l *life) string { l.pass(max(seconds, 0)); return "" }
	case 13:
		return func(l *life) string { l.setWall(seconds * 1000); return "" }
	case 14:
		if r.Intn(3) > 0 {
			return func(l *life) string { l.Resume(key[:1]); return "" }
		}
		return func(l *life) string { l.Pause(key[:1]); return fmt.Sprint(l.Paused()) }
	}
	return (*life).step
}

// playLife stops a life at any moment, and wants another to go on with its snapshot as it would have itself if its clock
// had stood still and its running work had ended as "retry now".
func playLife(t *testing.T, seed int64) {
	r := rand.New(rand.NewSource(seed))
	first := newLife(t, r.Intn(2) == 0)
	if !first.mono {
		first.clock.Set(-time.Hour)
	}
	for range r.Intn(40) {
		operation(r)(first)
	}
	text, err := json.Marshal(first.Snapshot())
	require.NoError(t, err)
	var snapshot Snapshot[string, int]
	require.NoError(t, json.Unmarshal(text, &snapshot))
	second := newLife(t, r.Intn(2) == 0)
	second.clock.Set(time.Duration(r.Intn(1e6)) * time.Second)
	require.NoError(t, second.Restore(snapshot), "seed %d", seed)

	for first.end(func(Work[string, int]) Result { return Blocked(0) }) != "nothing" {
	}
	for n := range 30 {
		do := operation(r)
		was, is := do(first), do(second)
		if was != is {
			t.Fatalf("seed %d: operation %d answers %q after the restart, %q without", seed, n, is, was)
		}
		if n%5 > 0 {
			continue
		}
		if was, is := first.seen(), second.seen(); was != is {
			t.Fatalf("seed %d: after operation %d:\n%s\n%s", seed, n, was, is)
		}
	}
}

func TestSnapshotsAreWhole(t *testing.T) {
	for seed := range int64(10_000) {
		playLife(t, seed)
	}
}
