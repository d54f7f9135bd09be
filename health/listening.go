package health

import (
	"math"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// listening keeps the listened time in which a Monitor counts; the package comment states the rule. It is not safe for
// concurrent use.
type listening struct {
	time   steady.Time
	period int64        // of the grid; 0 in exact mode
	slack  int64        // exact mode: this much of a gap counts in any case, unless it is the first in two graces
	due    func() int64 // the listened time at which the next node is due, MaxInt64 if none is
	grace  int64        // more unheard time at a stretch than this is a loss

	started bool  // the first Pass was made; before it, all time counts
	from    int64 // steady time: on the grid the slot of the last Pass, in exact mode the last call
	passed  int64 // on the grid, steady time of the last Pass
	heard   int64 // listened time at from
	lost    bool  // exact mode: there was a loss since the last Pass
	gapAt   int64 // exact mode: listened time at the last gap that was longer than Next had promised
}

func newListening(c Config, due func() int64) listening {
	grace := int64(c.NodeMonitorGracePeriod)
	return listening{period: int64(c.NodeMonitorPeriod), slack: grace / 4, grace: grace, due: due, gapAt: math.MinInt64}
}

func (l *listening) grid() bool { return l.period > 0 && l.started }

// read takes a reading of the clock and returns the listened time.
func (l *listening) read(now time.Time) int64 {
	t := l.time.Read(now)
	gap := steady.Sub(t, l.from)
	if l.grid() {
		return steady.Add(l.heard, time.Duration(min(gap, l.period)))
	}
	if l.started && gap > l.slack {
		gap = l.counts(gap)
	}
	l.heard, l.from = steady.Add(l.heard, time.Duration(gap)), t
	return l.heard
}

// counts returns how much of a gap between two calls counts as listened to in exact mode: all of it if the gap lasted
// no more than a fifth longer than the time until the next node was due. Else it is nothing the first time in two graces,
// so that one such gap ends with no verdict, and then the slack.
func (l *listening) counts(gap int64) int64 {
	promised := max(steady.Sub(l.due(), l.heard), 0)
	if gap <= steady.Add(promised, time.Duration(promised/5)) {
		return gap
	}
	l.lost = l.lost || gap > l.grace
	first := steady.Sub(l.heard, l.gapAt) >= 2*l.grace
	l.gapAt = l.heard
	if first {
		return 0
	}
	return l.slack
}

// pass is read for a Pass. It returns the listened time at which the Pass judges (on the grid, that of its slot), the
// listened time by which a grace must have ended to count, and whether there was a loss since the Pass before. It counts
// slots, not durations, so a Pass some milliseconds after its slot loses nothing. However little late it is, such a Pass
// comes after a grace that ends with its slot. So do the passes of kube-controller-manager, which are all a little late.
// But a Pass that has missed its slot by a whole period may have heard nothing even of that one: graces end in the next.
func (l *listening) pass(now time.Time) (at, by int64, loss bool) {
	at = l.read(now)
	loss, l.lost, l.passed = l.losing(), false, l.time.Elapsed()
	if !l.grid() {
		return at, at, loss
	}
	before := l.heard
	slots := steady.Sub(l.time.Elapsed(), l.from) / l.period
	if slots > 0 {
		l.from += slots * l.period
		l.heard = steady.Add(l.heard, time.Duration(l.period))
	}
	if slots > 1 {
		return l.heard, before, loss
	}
	late := min(steady.Sub(l.time.Elapsed(), l.from), 1) // more than nothing is late
	return l.heard, steady.Add(l.heard, time.Duration(late)), loss
}

// losing reports whether a Pass at the last reading would find a loss.
func (l *listening) losing() bool {
	if l.grid() {
		return steady.Sub(l.time.Elapsed(), l.passed)-l.period > l.grace
	}
	return l.lost
}

// skip leaves out the time since the last Pass or call without making it a loss, because no call was asked for.
func (l *listening) skip(now time.Time) {
	at := l.read(now)
	l.lost, l.passed = false, l.time.Elapsed()
	if l.grid() {
		gap := steady.Sub(l.time.Elapsed(), l.from)
		l.from += gap / l.period * l.period
		l.heard = steady.Sub(at, gap%l.period)
	}
}

// note returns when a heartbeat that arrives at the last reading is noted: on the grid, at the first slot at or after it.
// at is the listened time of that reading.
func (l *listening) note(at int64) int64 {
	if l.grid() && at > l.heard {
		return steady.Add(l.heard, time.Duration(l.period))
	}
	return at
}

// next returns the next slot of the grid.
func (l *listening) next() time.Time {
	return l.time.Instant(steady.Add(l.from, time.Duration(l.period)))
}

// instant returns what the clock showed at that listened time, or will show if somebody listens until then.
func (l *listening) instant(at int64) time.Time {
	return l.time.Instant(steady.Add(l.from, time.Duration(steady.Sub(at, l.heard))))
}
