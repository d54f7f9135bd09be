package health

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// One gap between two calls, however long, condemns none of twenty nodes that renew every 10 seconds. The exception, in
// exact mode only, is a gap that ends when Next asked for a call or up to a fifth later: it looks like waiting.
func TestOneGapCondemnsNobody(t *testing.T) {
	for _, period := range periods {
		for seed := range int64(1500) {
			r := rand.New(rand.NewSource(seed))
			w := watching(t, period)
			for i := range 20 {
				w.ObserveNode(node(fmt.Sprint("node-", i), "1", v1.ConditionTrue, 0))
			}
			gapAt := 20 + r.Intn(100)
			gap := time.Duration(1+r.Intn(3600)) * time.Second
			offset, explained := time.Duration(0), time.Duration(0)
			for second := range gapAt + 120 {
				if second == gapAt {
					next, _ := w.Next()
					explained = next.Sub(w.clk.Now()) * 6 / 5
					offset = gap - time.Second // the nodes live on, but nobody hears them
				}
				w.clk.SetTime(epoch.Add(time.Duration(second)*time.Second + offset))
				if next, ok := w.Next(); ok && !next.After(w.clk.Now()) {
					for _, v := range w.Pass() {
						if v.Expired {
							require.Zero(t, period, "life %d: a gap of %v condemned %s", seed, gap, v.Node)
							require.LessOrEqual(t, gap, explained, "life %d: a gap of %v condemned %s", seed, gap, v.Node)
							require.Less(t, 30*time.Second, gap)
						}
					}
				}
				for i := range 20 {
					if (second+i)%10 == 0 {
						w.ObserveRenewal(fmt.Sprint("node-", i), w.clk.Now())
					}
				}
			}
		}
	}
}

// A gap ends with no verdict, however long a node had been silent before it. After more than a grace all clocks have
// started again; after less, the rest of the grace is listened to, but for a period. The exception is the same as above.
func TestAGapCondemnsNobodyWhoWasSilentBefore(t *testing.T) {
	for _, period := range periods {
		for silent := range 40 {
			for _, gap := range []time.Duration{11 * time.Second, 30 * time.Second, 50 * time.Second, 10 * time.Minute, 24 * time.Hour} {
				if period == 0 && gap <= time.Duration(40-silent)*time.Second*6/5 {
					continue
				}
				w := watching(t, period)
				w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
				w.to(float64(silent))
				w.Next() // reads the clock
				w.clk.SetTime(w.clk.Now().Add(gap))
				woke := w.clk.Now()
				require.Empty(t, w.Pass(), "a gap of %v after %d seconds", gap, silent)
				least := time.Duration(40-silent)*time.Second - period
				if gap >= 50*time.Second {
					least = 40 * time.Second
				}
				require.Empty(t, w.to(woke.Add(least-1).Sub(epoch).Seconds()), "a gap of %v after %d seconds", gap, silent)
				require.Len(t, w.to(woke.Add(46*time.Second).Sub(epoch).Seconds()), 1)
			}
		}
	}
}

// On a real clock, passes come some milliseconds after their slots. No slot is lost by that, and beats are noted in the
// right slot. A grace of eight periods is over at the eighth pass after the one that noted the last beat. So it is for
// kube-controller-manager, whose passes are always a little late. With passes exactly on time it is the ninth, as there
// on a clock that stands still while it works.
func TestPassesALittleLate(t *testing.T) {
	w := watching(t, 5*time.Second)
	r := rand.New(rand.NewSource(1))
	w.ObserveNode(node("dead", "1", v1.ConditionTrue, 0))
	w.ObserveNode(node("alive", "1", v1.ConditionTrue, 0))
	for slot := range 720 {
		next, _ := w.Next()
		require.Equal(t, epoch.Add(time.Duration(slot)*5*time.Second), next)
		if slot > 0 {
			w.clk.SetTime(next.Add(time.Duration(1 + r.Intn(900_000_000))))
		}
		told := w.Pass()
		require.Len(t, told, map[int]int{0: 2, 8: 1}[slot], "slot %d", slot)
		w.ObserveRenewal("alive", w.clk.Now())
		v, _ := w.Verdict("alive")
		require.LessOrEqual(t, w.clk.Now(), v.LastBeat)
		require.Less(t, v.LastBeat.Sub(w.clk.Now()), 5*time.Second, "noted at the slot that follows")
	}
	require.Zero(t, w.Blind())
}

// On the grid a gap is what lies between two passes, wherever their slots are.
func TestAGapBeginsWithThePassBefore(t *testing.T) {
	w := watching(t, 5*time.Second)
	for _, second := range []float64{0, 4.9, 49.8} {
		w.clk.SetTime(at(second))
		w.Pass()
	}
	require.Zero(t, w.Blind())
	w.clk.SetTime(at(94.9))
	w.Pass()
	require.EqualValues(t, 1, w.Blind(), "45.1 seconds")
}
