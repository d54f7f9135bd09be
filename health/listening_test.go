package health

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// rhythm records when a monitor was called, and computes from that alone how much listened silence a silent node has. It
// implements only the rule in the package comment.
type rhythm struct {
	period, grace, startup time.Duration
	calls                  []time.Duration // of Pass, the first at 0
}

// silence returns the listened silence by which the last call judges a node that was heard at the first call. There are
// no other nodes.
func (h *rhythm) silence() (judged time.Duration) {
	silence, listened, restarted, forgiven := time.Duration(0), time.Duration(0), time.Duration(-1), time.Duration(-1)
	for i, at := range h.calls[1:] {
		last := h.calls[i]
		gap, unheard, before := at-last, time.Duration(0), silence
		if h.period > 0 {
			slots := at/h.period - last/h.period
			gap = min(slots, 1) * h.period
			unheard = at - last.Truncate(h.period) - h.period
			silence += gap
			switch judged = silence; {
			case slots > 1: // that period counts in the next pass
				judged = before
			case at%h.period > 0: // a late pass finds a grace over that ends with its slot
				judged++
			}
		} else {
			if wait := max(0, h.grace-silence); gap > wait+wait/5 && gap > h.grace/20 {
				unheard = gap - h.grace/20
				gap = h.grace / 20
				if forgiven < 0 || listened-forgiven >= 2*h.grace {
					gap = 0
				}
				forgiven = listened
			}
			silence += gap
			judged = silence
		}
		listened += gap
		if unheard > h.grace && (restarted < 0 || listened-restarted >= 2*h.startup) {
			silence, judged, restarted = 0, 0, listened
		}
	}
	return judged
}

// intervals returns the gaps between calls: all the same, or each between a second and an hour.
func intervals(r *rand.Rand) func() time.Duration {
	one := time.Duration(1+r.Intn(3600)) * time.Second
	switch r.Intn(3) {
	case 0:
		return func() time.Duration { return one }
	case 1:
		return func() time.Duration { return time.Duration(1+r.Intn(3600)) * time.Second }
	default:
		return func() time.Duration {
			if r.Intn(4) > 0 {
				return time.Duration(1+r.Intn(5000)) * time.Millisecond
			}
			return one
		}
	}
}

// Whatever the rhythm of calls, a silent node is Unknown at the first call after one grace of listened silence, and
// Settled some time later. The number of calls that this takes is bounded.
func TestAnyRhythmOfCalls(t *testing.T) {
	const grace = 40 * time.Second
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		h := rhythm{period: periods[seed%2], grace: grace, startup: time.Minute}
		w := watching(t, h.period)
		w.ObserveNode(node("a", "1", v1.ConditionTrue, 0))
		next, now := intervals(r), time.Duration(0)
		condemned, settled := false, false
		for call := 0; !settled; call++ {
			h.calls = append(h.calls, now)
			w.clk.SetTime(epoch.Add(now))
			w.Pass()
			if !condemned {
				v, _ := w.Verdict("a")
				condemned = v.Ready == v1.ConditionUnknown
				silence := h.silence()
				require.Equal(t, silence > grace || h.period == 0 && silence == grace, condemned, "life %d: %v of silence at %v", seed, silence, h.calls)
				require.True(t, condemned || now < grace || len(h.calls) < 90+int(now/grace), "life %d: not yet at %v", seed, h.calls)
			} else {
				settled = w.Settled("a")
			}
			require.Less(t, call, 500, "life %d", seed)
			now += next()
		}
	}
}

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

// A pass exactly on time comes before the end of a grace that ends with its slot; one that is late by a nanosecond comes
// after it.
func TestAPassOnTimeComesBeforeTheEndOfAGrace(t *testing.T) {
	for _, late := range []time.Duration{0, 1} {
		w := watching(t, 5*time.Second)
		w.ObserveNode(node("dead", "1", v1.ConditionTrue, 0))
		for slot := range 9 {
			w.clk.SetTime(epoch.Add(time.Duration(slot)*5*time.Second + late*time.Duration(slot/8)))
			told := w.Pass()
			require.Len(t, told, map[int]int{0: 1, 8: int(late)}[slot], "slot %d", slot)
		}
	}
}
