package timedworker

import (
	"context"
	"errors"
	"flag"
	"math/rand"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var operations = flag.Int("operations", 100_000, "how many random operations to compare with the model")

// source is the source of random choices.
type source func(n int) int

// player does the same to a Set and to the model, and compares their answers.
type player struct {
	testing.TB
	below source
	clock *clockcases.Clock
	mono  bool
	set   *Set[string, int]
	model *model
	count int // operations
	value int

	panics int // that OnPanic was told of

	jitter  func(time.Duration) time.Duration
	stop    context.CancelFunc
	in      bool // a Step is active
	cut     bool // it ends before what is due has run
	workers []*try[string, int]
	tries   []*modelTry // what each of the workers has in hand
}

var (
	errPlayed    = errors.New("played")
	backoffOfAll = Backoff{Initial: time.Second, Factor: 2, Max: 6 * time.Second}
)

func play(t testing.TB, below source) *player {
	p := &player{TB: t, below: below, model: newModel(), mono: below(2) == 0, jitter: func(d time.Duration) time.Duration { return d }}
	p.clock = clockcases.New(p.mono)
	p.newSet()
	return p
}

// newSet makes a Set with two workers, like those of Run but without goroutines.
func (p *player) newSet() {
	config := Config{Clock: p.clock, Backoff: backoffOfAll}
	config.Backoff.Jitter = func(d time.Duration) time.Duration {
		p.set.Next() // no lock is held
		return p.jitter(d)
	}
	config.OnPanic = func(_, value any, stack []byte) {
		require.NotEmpty(p, stack)
		if p.panics++; value == "twice" {
			panic("OnPanic")
		}
	}
	s, err := New(p.work, config)
	require.NoError(p, err)
	p.set, p.tries = s, make([]*modelTry, 2)
	p.workers = []*try[string, int]{{}, {}}
}

// panicked records in the model that a user function is about to panic.
func (p *player) panicked() {
	p.model.panics++
}

func (p *player) pick(names ...string) string { return names[p.below(len(names))] }
func (p *player) key() string                 { return p.pick("a", "b", "c", "d", "e", "f", "g") }
func (p *player) seconds(least, most int) time.Duration {
	return time.Duration(least+p.below(most-least+1)) * time.Second
}

// act plays an operation that is allowed while work runs.
func (p *player) act() {
	p.count++
	switch p.below(15) {
	case 0, 1, 2, 3, 4, 5, 6:
		p.schedule()
	case 7, 8, 9:
		key := p.key()
		require.Equal(p, p.model.cancel(key), p.set.Cancel(key))
	case 10, 11, 12, 13:
		p.pass(p.seconds(0, 3))
	case 14:
		p.setWall()
	}
	p.compare()
}

func (p *player) schedule() {
	p.value++
	e := Entry[string, int]{Key: p.key(), Value: p.value, OnDuplicate: Duplicate(p.below(3))}
	due := p.model.now
	if p.below(4) > 0 {
		in := p.seconds(-2, 9)
		due += in
		e.Due = p.clock.Now().Add(in)
		if p.below(2) == 0 {
			e.Due = e.Due.Round(0) // as from an API object
		}
	}
	want := p.model.schedule(e, due)
	if e.OnDuplicate == Replace && p.below(2) == 0 {
		require.Equal(p, want, p.set.Schedule(e.Key, e.Value, e.Due))
	} else {
		require.Equal(p, want, p.set.ScheduleEntry(e))
	}
}

func (p *player) pass(d time.Duration) {
	p.clock.Pass(d)
	p.model.now += d
	look(p.set) // without monotonic readings, time before a step back would be lost otherwise
}

func (p *player) setWall() {
	by := []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 1500 * time.Millisecond}[p.below(5)]
	if p.below(4) > 0 {
		by = -time.Hour // without monotonic readings, forward is time passed, and everything would be due
	}
	p.clock.Set(by)
	p.model.now += clockcases.Case{Monotonic: p.mono, Set: by}.Counts()
	look(p.set)
}

// begun compares work that begins with what should begin.
func (p *player) begun(w Work[string, int]) *modelTry {
	try := p.model.start()
	require.NotNil(p, try, "%s may not start", w.Key)
	require.Equal(p, try.key, w.Key)
	require.Equal(p, try.value, w.Value)
	require.Equal(p, try.attempts, w.Attempts)
	return try
}

// work is the function of the Set.
func (p *player) work(_ context.Context, w Work[string, int]) Result {
	try := p.begun(w)
	for range p.below(4) {
		p.act()
	}
	if p.below(12) == 0 {
		p.stop()
		p.cut = true
	}
	return p.outcome(try, 8)
}

// worker makes a worker start due work, or end the work that it has.
func (p *player) worker(i int) {
	p.count++
	if t := p.workers[i]; !t.running {
		if p.set.advance(context.Background(), t) {
			p.tries[i] = p.begun(t.work)
		} else {
			require.Nil(p, p.model.start(), "more may start")
		}
	} else {
		t.ending = p.outcome(p.tries[i], 6).ending
		t.hold.Delay(&t.ending, t.work.Key)
		p.set.abandon(t)
	}
	p.compare()
}

// outcome ends a try in one of several ways.
func (p *player) outcome(try *modelTry, ways int) Result {
	p.jitter = func(d time.Duration) time.Duration { return d }
	delay := p.seconds(-1, 4)
	after := max(delay, 0)
	backoff := min(time.Second<<min(try.attempts, 10), 6*time.Second)
	switch p.below(ways) {
	case 0:
		p.jitter = func(d time.Duration) time.Duration { return d / 2 }
		p.model.end(try, retried, backoff/2, nil)
		return Retry(nil)
	case 1, 2:
		p.model.end(try, blocked, after, nil)
		return Blocked(delay)
	case 3:
		p.model.end(try, retried, backoff, errPlayed)
		return Retry(errPlayed)
	case 4:
		p.jitter = func(time.Duration) time.Duration { panic("jitter") }
		p.panicked()
		p.model.end(try, retried, backoff, errPlayed)
		return Retry(errPlayed)
	case 6:
		p.panicked()
		p.model.end(try, retried, backoff, errPlayed)
		panic(p.pick("once", "twice"))
	case 7:
		p.cut = true
		p.model.end(try, retried, backoff, errPlayed)
		runtime.Goexit()
	}
	p.model.end(try, done, 0, nil)
	return Forget()
}

// step plays a Step, in its own goroutine because the work may end it.
func (p *player) step() {
	p.count++
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p.stop, p.cut, p.in, p.model.ran = stop, false, true, map[string]bool{}
	before := p.model.tries
	over := make(chan struct{})
	go func() {
		defer close(over)
		ran, err := p.set.Step(ctx)
		require.Equal(p, ctx.Err(), err)
		require.Equal(p, p.model.tries-before, ran)
	}()
	<-over
	if p.Failed() {
		p.FailNow()
	}
	if !p.cut {
		require.Nil(p, p.model.start(), "more may start")
	}
	p.in, p.model.ran = false, nil
	p.compare()
}

// compare requires the same answers from both.
func (p *player) compare() {
	next, some := p.set.Next()
	want := p.model.next()
	require.Equal(p, want != nil, some)
	if some {
		require.Equal(p, *want-p.model.now, next.Sub(p.clock.Now()))
	}
	p.compareKey(p.key())
	if p.below(8) > 0 {
		return
	}
	require.Equal(p, p.model.panics, p.panics)
	all := p.set.All()
	require.Len(p, all, len(p.model.sorted()))
	for i, w := range p.model.sorted() {
		p.compareStatus(w, all[i])
	}
	if p.in {
		_, err := p.set.Step(context.Background())
		require.ErrorIs(p, err, errRunning)
	}
}

func (p *player) compareKey(key string) {
	status, known := p.set.Get(key)
	w := p.model.works[key]
	require.Equal(p, w != nil, known)
	if w == nil {
		require.Zero(p, status)
		return
	}
	p.compareStatus(w, status)
}

func (p *player) compareStatus(w *modelWork, status Status[string, int]) {
	require.Equal(p, Work[string, int]{w.key, w.value, w.attempts}, status.Work)
	require.Equal(p, w.try != nil, status.State == InFlight)
	require.Equal(p, w.try == nil, status.State == Waiting)
	require.Equal(p, w.err != nil, status.LastError != nil)
	require.Equal(p, w.due-p.model.now, status.Due.Sub(p.clock.Now()))
}

// operate plays one operation while no work runs.
func (p *player) operate() {
	switch n := p.below(40); {
	case n < 10:
		p.step()
	case n < 18:
		p.worker(n % 2)
	default:
		p.act()
	}
}

func TestOperationsAgainstAModel(t *testing.T) {
	for played, seed := 0, int64(0); played < *operations; seed++ {
		played += playSeed(t, seed)
	}
}

func playSeed(t *testing.T, seed int64) int {
	p := play(t, rand.New(rand.NewSource(seed)).Intn)
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, operation %d", seed, p.count)
		}
	}()
	for p.count < min(*operations, 1000) {
		p.operate()
	}
	return p.count
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 1, 2, 2, 1, 1})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		bytes = bytes[:min(len(bytes), 2000)]
		p := play(t, func(n int) int {
			if len(bytes) == 0 {
				return 0
			}
			b := bytes[0]
			bytes = bytes[1:]
			return int(b) % n
		})
		for len(bytes) > 0 {
			p.operate()
		}
	})
}
