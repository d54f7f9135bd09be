package health

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/clockcases"
)

const lifeUntil = 40 // operations before it is stopped, and after

func lives() int64 {
	if os.Getenv("EVICTKIT_FULL") == "" {
		return 1_000
	}
	return 10_000
}

// otherClock is a clock of the same kind that shows another time.
func otherClock(r *rand.Rand, monotonic bool) *clockcases.Clock {
	clk := clockcases.New(monotonic)
	clk.Pass(time.Duration(r.Intn(1e6)) * time.Second)
	clk.Set(time.Duration(r.Intn(1e6)) * time.Second)
	return clk
}

// told writes an instant relative to the clock.
func told(clk *clockcases.Clock, t time.Time) string { return t.Sub(clk.Now()).String() }

// A tracker that is stopped, encoded to JSON and restored on another clock answers like one whose clock stood still in
// between.
func TestLivesOfDeadlines(t *testing.T) {
	for seed := range lives() {
		r := rand.New(rand.NewSource(seed))
		clk := clockcases.New(seed%2 == 0)
		d, err := NewDeadlines[string](DeadlinesConfig{Grace: 10 * time.Second, Clock: clk})
		require.NoError(t, err)
		for range r.Intn(lifeUntil) {
			deadlinesOperation(r, d, clk)
		}
		text, err := json.Marshal(d.Snapshot())
		require.NoError(t, err)
		other := otherClock(r, seed%2 == 0)
		restored, err := NewDeadlines[string](DeadlinesConfig{Grace: 10 * time.Second, Clock: other})
		require.NoError(t, err)
		var snapshot DeadlinesSnapshot[string]
		require.NoError(t, json.Unmarshal(text, &snapshot))
		require.NoError(t, restored.Restore(snapshot))
		both := r.Int63()
		one, two := rand.New(rand.NewSource(both)), rand.New(rand.NewSource(both))
		for n := range r.Intn(lifeUntil) {
			want, got := deadlinesOperation(one, d, clk), deadlinesOperation(two, restored, other)
			if want != got {
				t.Fatalf("life %d, %d after %s:\n%s\nexpected\n%s", seed, n, text, got, want)
			}
		}
	}
}

func deadlinesOperation(r *rand.Rand, d *Deadlines[string], clk *clockcases.Clock) string {
	key, n := string(rune('a'+r.Intn(8))), r.Intn(20)
	answer := ""
	switch r.Intn(9) {
	case 0, 1:
		answer = fmt.Sprint("Beat ", d.Beat(key))
	case 2:
		d.TrackSince(key, clk.Wall().Add(-time.Duration(n)*time.Second))
	case 3:
		clk.Pass(time.Duration(n) * time.Second)
	case 4:
		answer = fmt.Sprint("SetGrace ", d.SetGrace(key, time.Duration(n)*time.Second))
	case 5:
		answer = fmt.Sprint("Forget ", d.Forget(key))
	case 6:
		for key := range d.Expired() {
			st, _ := d.Get(key)
			answer += told(clk, st.Deadline) // those of one deadline in any order
			if n < 5 {
				break
			}
		}
		if answer != "" && n < 5 {
			for _, k := range d.Snapshot().Keys { // which of them it was
				d.Beat(k.Key)
			}
		}
	case 7:
		if n < 3 {
			d.Reset()
		}
		clk.Set(time.Duration(n-10) * time.Hour)
	case 8:
		for _, late := range d.Late() {
			answer += late.By.String()
		}
	}
	next, ok := d.Next()
	answer += fmt.Sprint(d.Len(), ok)
	if ok {
		answer += told(clk, next)
	}
	if st, ok := d.Get(key); ok {
		answer += fmt.Sprint(told(clk, st.LastBeat), told(clk, st.Deadline), st.Grace, st.HandedOut)
	}
	return answer
}
