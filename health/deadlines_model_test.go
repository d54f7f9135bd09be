package health

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var operationsFlag = flag.Int("operations", 20_000, "how many random operations are compared with each model")

// modelKey is what the model knows about a key: for how long it has been silent. Each call adds to that.
type modelKey struct {
	silent, grace time.Duration
	out           bool
}

// deadlinesLife plays operations on Deadlines and on the model.
type deadlinesLife struct {
	t       testing.TB
	d       *Deadlines[string]
	clk     *clockcases.Clock
	real    bool          // the clock has monotonic readings
	maxGap  time.Duration // as configured
	pending time.Duration // what has passed since the last call, by the rule of package steady
	keys    map[string]*modelKey
	paused  bool
}

const modelGrace = 10 * time.Second

var modelKeys = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}

func newDeadlinesLife(t testing.TB, monotonic bool, maxGap time.Duration) *deadlinesLife {
	l := &deadlinesLife{t: t, keys: map[string]*modelKey{}, maxGap: maxGap}
	l.begin(monotonic)
	return l
}

// begin makes an empty tracker on a new clock.
func (l *deadlinesLife) begin(monotonic bool) {
	l.real, l.clk, l.pending, l.paused = monotonic, clockcases.New(monotonic), 0, false
	var err error
	l.d, err = NewDeadlines[string](DeadlinesConfig{Grace: modelGrace, MaxGap: l.maxGap, Clock: l.clk})
	require.NoError(l.t, err)
	l.d.Next()
}

func (l *deadlinesLife) pass(d time.Duration) {
	l.clk.Pass(d)
	l.pending += d
}

func gapOf(maxGap, grace time.Duration) time.Duration {
	if maxGap > 0 {
		return maxGap
	}
	return max(grace/4, 1)
}

// called is what the call of any method makes of the time that has passed.
func (l *deadlinesLife) called() {
	for _, k := range l.keys {
		if l.paused {
			break
		}
		k.silent += min(l.pending, gapOf(l.maxGap, k.grace))
	}
	l.pending = 0
}

// set sets the wall clock. The clock is read first, so that the time until then counts.
func (l *deadlinesLife) set(d time.Duration) {
	l.d.Next()
	l.called()
	l.clk.Set(d)
	if !l.real && d > 0 {
		l.pending = d
	}
	l.d.Next()
	l.called()
}

func (l *deadlinesLife) status(key string) Status[string] {
	k := l.keys[key]
	if k == nil {
		return Status[string]{}
	}
	return Status[string]{Key: key, Silent: k.silent, Grace: k.grace, HandedOut: k.out}
}

func (l *deadlinesLife) beat(key string) {
	got := l.d.Beat(key)
	l.called()
	if want := l.status(key); got != want {
		l.t.Fatalf("%+v, expected %+v", got, want)
	}
	if l.keys[key] == nil {
		l.keys[key] = &modelKey{grace: modelGrace}
	}
	l.keys[key].silent, l.keys[key].out = 0, false
}

func (l *deadlinesLife) track(key string, ago time.Duration) {
	since := l.clk.Wall().Add(-ago)
	if ago == 0 {
		since = time.Time{}
	}
	l.d.Track(key, since)
	l.called()
	if l.keys[key] == nil {
		l.keys[key] = &modelKey{silent: max(ago, 0), grace: modelGrace}
	}
}

// expired takes at most that many from Expired. The body of the loop is slow, and others are heard meanwhile.
func (l *deadlinesLife) expired(most int, slow time.Duration) {
	last := time.Duration(math.MinInt64)
	for key := range l.d.Expired() {
		l.called()
		k := l.keys[key]
		if k == nil || k.out || k.silent < k.grace || l.paused {
			l.t.Fatalf("%s is yielded, with %+v", key, k)
		}
		if late := k.grace - k.silent; slow == 0 {
			require.LessOrEqual(l.t, last, late, "in the order of their deadlines")
			last = late
		}
		k.out = true
		if slow > 0 {
			l.pass(slow)
			l.beat(modelKeys[int(slow/time.Second)%len(modelKeys)])
		}
		if most--; most == 0 {
			return
		}
	}
	l.called()
	for key, k := range l.keys {
		if !l.paused && !k.out && k.silent >= k.grace {
			l.t.Fatalf("%s is not yielded: %+v", key, k)
		}
	}
}

// restore continues from a snapshot on another clock.
func (l *deadlinesLife) restore(monotonic bool) {
	snapshot := l.d.Snapshot()
	l.called()
	text, err := json.Marshal(snapshot)
	require.NoError(l.t, err)
	l.begin(monotonic)
	var read []Status[string]
	require.NoError(l.t, json.Unmarshal(text, &read))
	require.NoError(l.t, l.d.Restore(read))
}

// check compares the answers of every method.
func (l *deadlinesLife) check() {
	now := l.clk.Now()
	got, ok := l.d.Next()
	l.called()
	want, any := time.Duration(math.MaxInt64), false
	for _, k := range l.keys {
		if gap := gapOf(l.maxGap, k.grace); !k.out && !l.paused {
			want, any = min(want, k.grace-k.silent, gap-gap/2), true
		}
	}
	if ok != any || any && got.Sub(now) != want || l.d.Len() != len(l.keys) {
		l.t.Fatalf("Next %v %v, Len %d at %v; expected %v %v of %d", got.Sub(now), ok, l.d.Len(), now, want, any, len(l.keys))
	}
	for _, key := range modelKeys {
		if got, want := l.d.Get(key), l.status(key); got != want {
			l.t.Fatalf("%s: %+v, expected %+v", key, got, want)
		}
	}
}

// step plays the operation that two bytes encode.
func (l *deadlinesLife) step(op, arg byte) {
	key, n := modelKeys[int(arg)%len(modelKeys)], int(arg)/len(modelKeys)
	switch op % 21 {
	case 0, 1, 2, 3, 4, 5:
		l.beat(key)
	case 6, 7, 8:
		l.pass(time.Duration(n) * 300 * time.Millisecond)
	case 9:
		l.pass(time.Duration(n) * time.Minute)
	case 10:
		if n < 8 {
			l.set([]time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}[n%4])
		}
	case 11:
		require.Equal(l.t, l.keys[key] != nil, l.d.Forget(key))
		delete(l.keys, key)
	case 12, 13:
		grace := time.Duration(n-2) * time.Second
		l.d.SetGrace(key, grace)
		l.called()
		if l.keys[key] == nil {
			l.keys[key] = &modelKey{}
		}
		if l.keys[key].grace = grace; grace <= 0 {
			l.keys[key].grace = modelGrace
		}
	case 14, 15:
		l.expired(-1, 0)
	case 16:
		l.expired(n%3-1, time.Duration(n)*time.Second)
	case 17:
		l.track(key, time.Duration(n-5)*time.Second)
	case 18:
		l.d.Restart()
		l.called()
		for _, k := range l.keys {
			if !k.out {
				k.silent = 0
			}
		}
	case 19:
		if n%8 == 0 {
			l.restore(n%16 == 0)
		}
	case 20:
		if n%2 == 0 {
			l.d.Pause()
		} else {
			l.d.Resume()
		}
		l.called()
		l.paused = n%2 == 0
	}
	l.check()
}

func TestDeadlinesAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for left := *operationsFlag; left > 0; left -= 1000 {
		l := newDeadlinesLife(t, left%2000 == 0, []time.Duration{0, 0, 0, time.Second, time.Hour}[r.Intn(5)])
		for range 1000 {
			l.step(byte(r.Intn(256)), byte(r.Intn(256)))
		}
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 0, 8, 0, 3, 5, 6, 2, 3, 9, 7, 0, 5, 0, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		l := newDeadlinesLife(t, len(ops)%2 == 0, time.Duration(len(ops)%3)*time.Second)
		for n := 0; n+1 < min(len(ops), 1600); n += 2 {
			l.step(ops[n], ops[n+1])
		}
	})
}
