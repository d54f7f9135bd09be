package health

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

var operationsFlag = flag.Int("operations", 150_000, "how many random operations are compared with each model")

// modelKey is what the model knows about a key. The model is a map of these, which it scans.
type modelKey struct {
	beat  time.Duration
	grace time.Duration
	out   bool
}

// deadlinesLife plays operations on Deadlines and on the model.
type deadlinesLife struct {
	t       testing.TB
	d       *Deadlines[string]
	clk     *clockcases.Clock
	real    bool          // the clock has monotonic readings
	elapsed time.Duration // that somebody listened
	pending time.Duration // what has passed since the last call, by the rule of package steady
	gapAt   time.Duration // elapsed, at the last gap
	frozen  bool
	keys    map[string]*modelKey
}

const modelGrace = 10 * time.Second

var modelKeys = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}

func newDeadlinesLife(t testing.TB, monotonic bool) *deadlinesLife {
	l := &deadlinesLife{t: t, keys: map[string]*modelKey{}, gapAt: -math.MaxInt64 / 2}
	l.begin(monotonic)
	return l
}

// begin makes an empty tracker on a new clock.
func (l *deadlinesLife) begin(monotonic bool) {
	l.real, l.clk = monotonic, clockcases.New(monotonic)
	var err error
	l.d, err = NewDeadlines[string](DeadlinesConfig{Grace: modelGrace, Clock: l.clk})
	require.NoError(l.t, err)
	l.d.Next()
}

func (l *deadlinesLife) pass(d time.Duration) {
	l.clk.Pass(d)
	l.pending += d
}

// read is what the next call of any method makes of the time that has passed.
func (l *deadlinesLife) read() {
	gap := l.pending
	l.pending = 0
	promised := time.Duration(math.MaxInt64 / 2)
	for _, k := range l.keys {
		if !k.out && !l.frozen {
			promised = min(promised, max(0, k.beat+k.grace-l.elapsed))
		}
	}
	if gap > modelGrace/4 && gap > promised+promised/5 {
		gap = modelGrace / 4
		if l.elapsed-l.gapAt >= 2*modelGrace {
			gap = 0
		}
		l.gapAt = l.elapsed
	}
	l.elapsed += gap
}

// set sets the wall clock. The clock is read first, so that the time until then counts.
func (l *deadlinesLife) set(d time.Duration) {
	l.clk.Set(d)
	if !l.real && d > 0 {
		l.pending += d
	}
	l.d.Next()
	l.read()
}

func (l *deadlinesLife) beat(key string, beat func() Noted) {
	k := l.keys[key]
	want := Noted{}
	if k != nil {
		want = Noted{Late: max(0, l.elapsed-k.beat-k.grace), HandedOut: k.out}
	} else {
		k = &modelKey{grace: modelGrace}
		l.keys[key] = k
	}
	k.beat, k.out = l.elapsed, false
	require.Equal(l.t, want, beat())
}

func (l *deadlinesLife) track(key string, ago time.Duration) {
	since := l.clk.Wall().Add(-ago)
	if ago == 0 {
		since = time.Time{}
	}
	l.d.Track(key, since)
	if l.keys[key] == nil {
		l.keys[key] = &modelKey{beat: l.elapsed - max(ago, 0), grace: modelGrace}
	}
	l.d.Track(key, epoch) // it is tracked
}

// expired takes at most that many from Expired.
func (l *deadlinesLife) expired(most int) {
	last := time.Duration(-1 << 63)
	for key := range l.d.Expired() {
		k := l.keys[key]
		require.NotNil(l.t, k)
		require.False(l.t, k.out, "each once")
		require.False(l.t, l.frozen)
		require.LessOrEqual(l.t, k.beat+k.grace, l.elapsed)
		require.LessOrEqual(l.t, last, k.beat+k.grace, "in the order of their deadlines")
		last, k.out = k.beat+k.grace, true
		if most--; most == 0 {
			return
		}
	}
	for key, k := range l.keys {
		require.True(l.t, l.frozen || k.out || k.beat+k.grace > l.elapsed, key)
	}
}

// restore continues from a snapshot on another clock.
func (l *deadlinesLife) restore(monotonic bool) {
	snapshot := l.d.Snapshot()
	require.True(l.t, slices.IsSortedFunc(snapshot.Keys, func(a, b KeySnapshot[string]) int { return int(b.Silent - a.Silent) }))
	text, err := json.Marshal(snapshot)
	require.NoError(l.t, err)
	l.begin(monotonic)
	l.frozen, l.gapAt = false, -math.MaxInt64/2
	var read DeadlinesSnapshot[string]
	require.NoError(l.t, json.Unmarshal(text, &read))
	require.NoError(l.t, l.d.Restore(read))
}

// check compares the answers of every method.
func (l *deadlinesLife) check() {
	now := l.clk.Now()
	var next time.Duration
	any := false
	got, ok := l.d.Next() // reads the clock
	l.read()
	if _, known := l.d.Get("nobody"); known {
		l.t.Fatal("what was never tracked is there")
	}
	for key, k := range l.keys {
		st, known := l.d.Get(key)
		deadline := k.beat + k.grace
		if !known || st.Grace != k.grace || st.HandedOut != k.out || st.LastBeat.Sub(now) != k.beat-l.elapsed || st.Deadline.Sub(now) != deadline-l.elapsed {
			l.t.Fatalf("%s: %+v at %v, expected %+v at %v", key, st, now, k, l.elapsed)
		}
		if !k.out && !l.frozen && (!any || deadline < next) {
			next, any = deadline, true
		}
	}
	if ok != any || any && got.Sub(now) != next-l.elapsed || l.d.Len() != len(l.keys) {
		l.t.Fatalf("Next %v %v, Len %d at %v; expected %v %v of %d", got, ok, l.d.Len(), now, next-l.elapsed, any, len(l.keys))
	}
}

func (l *deadlinesLife) reset() {
	for _, k := range l.keys {
		if !k.out {
			k.beat = l.elapsed
		}
	}
}

// step plays the operation that two bytes encode.
func (l *deadlinesLife) step(op, arg byte) {
	key, n := modelKeys[int(arg)%len(modelKeys)], int(arg)/len(modelKeys)
	switch op % 20 {
	case 0, 1, 2, 3, 4, 5:
		l.beat(key, func() Noted { return l.d.Beat(key) })
	case 6, 7, 8:
		l.pass(time.Duration(n) * time.Second)
		l.d.Next()
		l.read()
	case 9:
		l.set([]time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour}[n%4])
	case 10:
		require.Equal(l.t, l.keys[key] != nil, l.d.Forget(key))
		delete(l.keys, key)
	case 11, 12:
		grace := time.Duration(n-2) * time.Second
		if ok := l.d.SetGrace(key, grace); ok {
			l.keys[key].grace = grace
		} else {
			require.True(l.t, grace <= 0 || l.keys[key] == nil)
		}
	case 13, 14:
		l.expired(-1)
	case 15:
		l.expired(1)
	case 16:
		switch n % 3 {
		case 0:
			l.d.Freeze()
			l.frozen = true
		default:
			l.d.Thaw()
			if l.frozen {
				l.frozen = false
				l.reset()
			}
		}
	case 17:
		l.track(key, time.Duration(n-5)*time.Second)
	case 18:
		l.d.Reset()
		l.reset()
	case 19:
		if n%8 == 0 {
			l.restore(n%16 == 0)
		}
	}
	l.check()
}

func TestDeadlinesAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for left := *operationsFlag; left > 0; left -= 1000 {
		l := newDeadlinesLife(t, left%2000 == 0)
		for range 1000 {
			l.step(byte(r.Intn(256)), byte(r.Intn(256)))
		}
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 0, 8, 0, 3, 5, 6, 2, 3, 9, 7, 0, 5, 0, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		l := newDeadlinesLife(t, len(ops)%2 == 0)
		for n := 0; n+1 < min(len(ops), 1600); n += 2 {
			l.step(ops[n], ops[n+1])
		}
	})
}
