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
	period, grace time.Duration
	calls         []time.Duration // of Pass, the first at 0
}

// silence returns the listened silence, at the last call, of a node that was heard at the first call. There are no other
// nodes.
func (h *rhythm) silence() (silence time.Duration) {
	for i, at := range h.calls[1:] {
		gap := at - h.calls[i]
		if h.period > 0 {
			if at/h.period > h.calls[i]/h.period {
				silence += h.period
			}
			continue
		}
		wait := max(0, h.grace-silence)
		if gap > wait+wait/5 {
			gap = min(gap, h.grace/20)
		}
		silence += gap
	}
	return silence
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
		h := rhythm{period: periods[seed%2], grace: grace}
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
				late := h.period > 0 && now%h.period > 0 // a late pass finds a grace over that ends with its slot
				require.Equal(t, silence > grace || (h.period == 0 || late) && silence >= grace, condemned, "life %d: %v of silence at %v", seed, silence, h.calls)
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
