package health

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
)

// Each test here is a sentence of "Silence" in the package comment, or what follows from one.

// listener is what both types are to whoever listens.
type listener interface {
	hear(name string, stamp int)
	look() (silent []string)
	next() (time.Time, bool)
}

type deadlinesListener struct{ *Deadlines[string] }

func (l deadlinesListener) hear(name string, _ int) { l.Beat(name) }
func (l deadlinesListener) look() []string          { return slices.Collect(l.Expired()) }
func (l deadlinesListener) next() (time.Time, bool) { return l.Next() }

type monitorListener struct{ *Monitor }

func (l monitorListener) hear(name string, stamp int) {
	if _, known := l.Verdict(name); !known {
		l.ObserveNode(node(name, "u", v1.ConditionTrue, 0))
	}
	l.ObserveLease(name, at(float64(stamp)), "")
}

func (l monitorListener) look() (silent []string) {
	for _, v := range l.Pass() {
		if v.Expired {
			silent = append(silent, v.Node)
		}
	}
	return silent
}
func (l monitorListener) next() (time.Time, bool) { return l.Next() }

// kinds are a Deadlines, one with a long grace of which each key has its own, and Monitors without and with a period.
var kinds = map[string]func(t testing.TB, grace time.Duration, clk *testingclock.FakePassiveClock) listener{
	"deadlines": func(t testing.TB, grace time.Duration, clk *testingclock.FakePassiveClock) listener {
		d, err := NewDeadlines[string](DeadlinesConfig{Grace: grace, Clock: clk})
		require.NoError(t, err)
		return deadlinesListener{d}
	},
	"own graces": func(t testing.TB, grace time.Duration, clk *testingclock.FakePassiveClock) listener {
		d, err := NewDeadlines[string](DeadlinesConfig{Grace: 24 * time.Hour, Clock: clk})
		require.NoError(t, err)
		for i := range 100 {
			d.SetGrace(fmt.Sprint(i), grace)
		}
		return deadlinesListener{d}
	},
	"exact": func(t testing.TB, grace time.Duration, clk *testingclock.FakePassiveClock) listener {
		return monitorOf(t, 0, grace, clk)
	},
	"period": func(t testing.TB, grace time.Duration, clk *testingclock.FakePassiveClock) listener {
		return monitorOf(t, 5*time.Second, grace, clk)
	},
}

func monitorOf(t testing.TB, period, grace time.Duration, clk *testingclock.FakePassiveClock) monitorListener {
	m, err := NewMonitor(Config{NodeMonitorPeriod: period, NodeMonitorGracePeriod: grace, NodeStartupGracePeriod: time.Minute, Clock: clk})
	require.NoError(t, err)
	return monitorListener{m}
}

// One suspension in two graces, of any length and at any moment, condemns nobody: 100 beat every 10 seconds, and are heard
// again at once.
func TestWhoWasSuspendedCondemnsNobody(t *testing.T) {
	for name, kind := range kinds {
		r := rand.New(rand.NewSource(1))
		for _, grace := range []time.Duration{30 * time.Second, 40 * time.Second, 50 * time.Second} {
			for _, sleep := range []time.Duration{0, 5, 8, 10, 15, 20, 22, 24, 26, 30, 35, 40, 60, 240, 600, 36000} {
				clk := testingclock.NewFakePassiveClock(epoch)
				l := kind(t, grace, clk)
				asleep := 60000 + 100*r.Intn(200) // milliseconds
				for tick := 0; tick < asleep+120000; tick += 100 {
					for i := tick / 100 % 100; i < 100; i += 100 {
						l.hear(fmt.Sprint(i), tick)
					}
					if next, ok := l.next(); ok && !next.After(clk.Now()) {
						require.Empty(t, l.look(), "%s, grace %v, asleep for %v", name, grace, sleep*time.Second)
					}
					clk.SetTime(clk.Now().Add(100 * time.Millisecond))
					if tick == asleep {
						clk.SetTime(clk.Now().Add(sleep * time.Second))
						require.Empty(t, l.look(), "%s, grace %v, at once after %v", name, grace, sleep*time.Second)
					}
				}
			}
		}
	}
}

// Who passes less often than the period, while others are heard, finds a silence within one pass.
func TestWhoPassesSeldom(t *testing.T) {
	for name, kind := range kinds {
		for _, every := range []float64{5, 9, 10, 30, 60} {
			clk := testingclock.NewFakePassiveClock(epoch)
			l := kind(t, 40*time.Second, clk)
			l.hear("0", 1)
			l.look()
			found := 0.0
			for second := 0.0; found == 0; second++ {
				clk.SetTime(at(second))
				l.hear("1", int(second))
				if int(second)%int(every) == 0 && slices.Contains(l.look(), "0") {
					found = second
				}
			}
			require.LessOrEqual(t, found, 41+every, name)
			require.GreaterOrEqual(t, found, 40.0, name)
		}
	}
}

// Who calls when Next says finds each silence at its end.
func TestWhoObeysNextIsExact(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for name, kind := range kinds {
		if name == "period" {
			continue
		}
		clk := testingclock.NewFakePassiveClock(epoch)
		l := kind(t, 30*time.Second, clk)
		l.look() // for a Monitor, time begins
		for i := range 50 {
			l.hear(fmt.Sprint("0", i), 1)
			l.look()
		}
		due := map[string]time.Time{}
		for i := range 100 {
			clk.SetTime(clk.Now().Add(time.Duration(r.Intn(int(7 * time.Second))))) // less than a MaxGap
			l.hear(fmt.Sprint(i), i+2)
			due[fmt.Sprint(i)] = clk.Now().Add(30 * time.Second)
			l.look()
			for next, ok := l.next(); ok && next.Before(clk.Now().Add(time.Second)); next, ok = l.next() {
				clk.SetTime(next)
				for _, silent := range l.look() {
					if at, ok := due[silent]; ok {
						require.Equal(t, at, clk.Now(), name)
					}
				}
			}
		}
	}
}

// A key with a grace period of a second, whom nobody hears, does not slow one with 40 seconds.
func TestAShortGraceDoesNotSlowALongOne(t *testing.T) {
	d, clk := deadlines(t, 40*time.Second)
	d.Beat("long")
	d.SetGrace("short", time.Second)
	for second := 8.0; second < 40; second += 8 {
		clk.SetTime(at(second))
		require.NotContains(t, slices.Collect(d.Expired()), "long")
	}
	clk.SetTime(at(40))
	require.Contains(t, slices.Collect(d.Expired()), "long")
	require.Equal(t, 1250*time.Millisecond, d.Get("short").Silent, "of each gap, a quarter of a second")
}

// Passes that are all 2 ms late delay a verdict by no more than a pass, also if a MaxGap would be shorter than the period.
func TestLatePassesDelayNothing(t *testing.T) {
	for _, grace := range []time.Duration{8 * time.Second, 16 * time.Second, 40 * time.Second} {
		clk := testingclock.NewFakePassiveClock(epoch)
		l := monitorOf(t, 5*time.Second, grace, clk)
		l.hear("a", 1)
		for silent := []string(nil); silent == nil; silent = l.look() {
			require.Less(t, clk.Now().Sub(epoch), grace+5*time.Second)
			next, _ := l.next()
			clk.SetTime(next.Add(2 * time.Millisecond))
		}
		require.Greater(t, clk.Now().Sub(epoch), grace)
	}
}

// A heartbeat is never dated before it came: one just before a late Pass has its whole grace period.
func TestAHeartbeatIsNotDatedBeforeItCame(t *testing.T) {
	w := watching(t, 5*time.Second)
	w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
	w.to(20)
	w.clk.SetTime(at(29.8))
	require.True(t, w.ObserveLease("a", at(29.8), ""))
	v, _ := w.Verdict("a")
	require.Equal(t, at(29.8), v.LastBeat)
	w.clk.SetTime(at(29.9))
	require.Empty(t, w.Pass())
	v, _ = w.Verdict("a")
	require.Equal(t, at(29.9), v.LastBeat)
	require.Equal(t, []string{"74.9 a Unknown"}, w.to(100))
}

// The first test on a fake clock that everybody writes. Without MaxGap, a step of ten minutes counts for a quarter of a
// grace period, with it for all.
func TestOneBigStep(t *testing.T) {
	for _, period := range periods {
		for maxGap, steps := range map[time.Duration]int{0: 4, time.Hour: 1} {
			clk := testingclock.NewFakePassiveClock(epoch)
			m, err := NewMonitor(Config{NodeMonitorPeriod: period, NodeMonitorGracePeriod: 39 * time.Second, NodeStartupGracePeriod: time.Minute, MaxGap: maxGap, Clock: clk})
			require.NoError(t, err)
			m.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
			m.Pass()
			if period > 0 && maxGap == 0 {
				steps++ // silence must be longer than the grace period
			}
			for step := 1; step <= steps; step++ {
				clk.SetTime(clk.Now().Add(10 * time.Minute))
				require.Len(t, m.Pass(), map[bool]int{true: 1}[step == steps], "period %v, MaxGap %v, step %d", period, maxGap, step)
			}
		}
	}
}

// The smallest MaxGap of those who can still fall silent says when to call, not that of one who has.
func TestNextIsHalfAMaxGapAhead(t *testing.T) {
	d, clk := deadlines(t, 40*time.Second)
	next := func() time.Duration {
		at, ok := d.Next()
		require.True(t, ok)
		return at.Sub(clk.Now())
	}
	d.Beat("long")
	require.Equal(t, 5*time.Second, next())
	d.SetGrace("short", 8*time.Second)
	require.Equal(t, time.Second, next())
	for range 8 {
		clk.SetTime(clk.Now().Add(time.Second))
		require.Equal(t, clk.Now() == at(8), slices.Contains(slices.Collect(d.Expired()), "short"))
	}
	require.Equal(t, 5*time.Second, next())
}

// While the body of a loop over Expired is slow, others are heard. However slow it is, the loop loses nobody who was late
// when it began, nor who is late by now.
func TestALoopYieldsWhoeverIsLate(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Second, 10 * time.Second, time.Hour} {
		d, clk := deadlines(t, 40*time.Second)
		d.Track("first", at(-41))
		d.Track("second", at(-40))
		d.Track("other", at(-20))
		yielded := []string(nil)
		for key := range d.Expired() {
			yielded = append(yielded, key)
			clk.SetTime(clk.Now().Add(step))
			d.Beat("beats")
		}
		want := map[bool][]string{false: {"first", "second"}, true: {"first", "second", "other"}}[step > 5*time.Second]
		require.Equal(t, want, yielded)
		require.Equal(t, 20*time.Second+time.Duration(len(want))*min(step, 10*time.Second), d.Get("other").Silent, "no time counts twice")
	}
}

// What fails counts as a call like what succeeds.
func TestAFailedCallCounts(t *testing.T) {
	for _, fail := range []func(d *Deadlines[any]){
		func(d *Deadlines[any]) { require.Error(t, d.Restore(nil)) },
		func(d *Deadlines[any]) { require.Error(t, d.Restore([]Status[any]{{Key: 2}})) },
		func(d *Deadlines[any]) { require.Panics(t, func() { d.Beat(math.NaN()) }) },
		func(d *Deadlines[any]) { require.Panics(t, func() { d.Get([]int{}) }) },
	} {
		clk := testingclock.NewFakePassiveClock(epoch)
		d, err := NewDeadlines[any](DeadlinesConfig{Grace: 40 * time.Second, Clock: clk})
		require.NoError(t, err)
		d.Beat(1)
		clk.SetTime(at(10))
		fail(d)
		clk.SetTime(at(20))
		require.Equal(t, Status[any]{Key: 1, Silent: 20 * time.Second, Grace: 40 * time.Second}, d.Get(1))
		require.Equal(t, 1, d.Len())
		require.False(t, d.Forget(math.NaN()), "nobody knows it")
	}
}

// Who goes through a list asks about each key. Asking is listening, and does not hand out.
func TestPollingAList(t *testing.T) {
	d, clk := deadlines(t, 40*time.Second)
	require.False(t, d.Get("a").Late(), "nobody knows it")
	d.Track("a", at(-35))
	require.False(t, d.Get("a").Late())
	clk.SetTime(at(5))
	require.True(t, d.Get("a").Late())
	require.False(t, d.Get("a").HandedOut)
	require.Equal(t, Status[string]{Key: "a", Silent: 40 * time.Second, Grace: 40 * time.Second}, d.Beat("a"))
	d.SetGrace("a", time.Minute)
	d.SetGrace("a", 0)
	require.Equal(t, Status[string]{Key: "a", Grace: 40 * time.Second}, d.Get("a"), "0 is the configured one")
}
