package budget

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// bucket is the tokens of one group, seen as a queue of work. Taking tokens is work that lasts until they have come back,
// one after the other, and the bucket is full while there is no work. Work that comes at some instant uses up the idle
// time from then on, whatever the order in which the bucket hears of it. So idle times are all that must be remembered.
// Instants and work are whole nanoseconds: sums are the same in any order, and a refusal is over exactly when it says.
type bucket struct {
	token int64    // the work of one token, rounded up: no more begin than the rate allows
	idle  []span   // without what is open; in order, apart from each other; the first never began, the last never ends
	open  []taking // those of reservations, which may be given back; in order of time
	full  int64    // from when on the bucket is full if nothing more is taken
}

type span struct{ from, to int64 }

// taking is work and the instant at which it came, not before beginning.
type taking struct{ at, work int64 }

const (
	// forever is later than any instant. The time between beginning and forever does not overflow.
	forever = math.MaxInt64 / 2
	// mostIdle bounds len(bucket.idle), so a bucket has at most about half a kilobyte, plus what is open.
	mostIdle = 32
)

func newBucket(perSecond float64) *bucket {
	token := math.Ceil(float64(time.Second) / perSecond * (1 - 1e-15)) // with 1.0/49, a rounding error would add one more
	return &bucket{token: int64(max(1, min(token, forever))), idle: []span{{math.MinInt64, forever}}, full: math.MinInt64}
}

// work returns how long that many tokens take to come back.
func (b *bucket) work(tokens int64) int64 {
	high, low := bits.Mul64(uint64(tokens), uint64(b.token))
	if high > 0 || low > forever {
		return forever
	}
	return int64(low)
}

// left is the work that is left.
func (b *bucket) left(now int64) int64 { return max(b.full, now) - now }

// missing is how many tokens are missing, rounded up.
func (b *bucket) missing(now int64) int64 {
	if b == nil {
		return 0
	}
	return (b.left(now) + b.token - 1) / b.token
}

// ask returns the answer to a member of that weight, and when it may change. What weighs more than the burst needs a full
// bucket.
func (b *bucket) ask(weight, burst, now int64) (answer, int64) {
	if b != nil {
		if wait := b.left(now) - b.work(max(burst-weight, 0)); wait > 0 {
			return answer{tooMany, weight, max(burst-b.missing(now), 0)}, now + wait
		}
	}
	return answer{}, none
}

// take adds work that comes now and may be given back.
func (b *bucket) take(t taking) {
	b.open = append(b.open, t)
	b.full = min(max(b.full, t.at)+t.work, forever)
}

// giveBack makes it as if the open taking had never been.
func (b *bucket) giveBack(t taking) {
	if i := slices.Index(b.open, t); i >= 0 { // of equal ones, any
		b.open = slices.Delete(b.open, i, i+1)
		b.count()
	}
}

// keep says that the open taking will not be given back.
func (b *bucket) keep(t taking) {
	if i := slices.Index(b.open, t); i >= 0 {
		b.open = slices.Delete(b.open, i, i+1)
		b.add(t)
	}
}

// add adds work that came at that instant and will not be given back.
func (b *bucket) add(t taking) {
	b.use(t)
	b.count()
	b.trim()
}

// use uses up idle time for work.
func (b *bucket) use(t taking) {
	if t.work == 0 {
		return
	}
	last := len(b.idle) - 1
	i := last
	for i > 0 && b.idle[i-1].to > t.at {
		i--
	}
	if is := b.idle[i]; is.from < t.at {
		b.idle[i].from = t.at
		b.idle = slices.Insert(b.idle, i, span{is.from, t.at})
		i, last = i+1, last+1
	}
	rest := i
	for rest < last && t.work >= b.idle[rest].to-b.idle[rest].from {
		t.work -= b.idle[rest].to - b.idle[rest].from
		rest++
	}
	b.idle = slices.Delete(b.idle, i, rest)
	b.idle[i].from = min(b.idle[i].from+t.work, forever)
}

// count finds out from when on the bucket is full: what is open uses up idle time, in order.
func (b *bucket) count() {
	i, last, at := 0, len(b.idle)-1, int64(beginning)
	for _, t := range b.open {
		for at = max(at, t.at); ; i++ {
			at = max(at, b.idle[i].from)
			room := max(0, b.idle[i].to-at)
			if i == last || t.work < room {
				at = min(at+t.work, forever)
				break
			}
			at, t.work = at+room, t.work-room
		}
	}
	b.full = max(b.idle[last].from, at)
}

// trim forgets the oldest idle times but the first: they count as busy. What is open and might have used them is not given
// back any more, or it would cost tokens once more.
func (b *bucket) trim() {
	for len(b.idle) > mostIdle {
		if len(b.open) > 0 && b.open[0].at < b.idle[1].to {
			b.use(b.open[0])
			b.open = slices.Delete(b.open, 0, 1)
		} else {
			b.idle = slices.Delete(b.idle, 1, 2)
		}
	}
}
