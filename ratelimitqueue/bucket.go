package ratelimitqueue

import (
	"math"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// bucket is a token bucket in steady time. Its sums are those of golang.org/x/time/rate, and so are the instants at
// which a token is there; but its tokens can be read and set, stand still, and rate 0 holds none.
type bucket struct {
	rate   float64 // 0: stopped
	burst  float64
	tokens float64 // as of at
	at     int64
	frozen bool // none accrue
}

// newBucket returns a full one.
func newBucket(rate float64, burst int, now int64) bucket {
	b := bucket{rate: rate, burst: float64(burst), tokens: float64(burst), at: now}
	b.empty()
	return b
}

// empty takes the tokens from a bucket that is stopped.
func (b *bucket) empty() {
	if b.rate == 0 {
		b.tokens = 0
	}
}

// have is how many tokens there are, with their fraction. An unlimited bucket is full.
func (b *bucket) have(now int64) float64 {
	switch {
	case b.rate == Unlimited:
		return b.burst
	case b.frozen || b.rate == 0:
		return b.tokens
	}
	return min(b.tokens+time.Duration(steady.Sub(now, b.at)).Seconds()*b.rate, b.burst)
}

// settle notes the tokens as they are now.
func (b *bucket) settle(now int64) { b.tokens, b.at = b.have(now), now }

// setRate keeps whole tokens and no fractions.
func (b *bucket) setRate(rate float64, now int64) {
	if rate == b.rate {
		return
	}
	b.tokens, b.at = b.whole(now), now
	b.rate = rate
	b.empty()
}

// whole is how many items could be taken now.
func (b *bucket) whole(now int64) float64 {
	have := b.have(now)
	n := math.Floor(have)
	if n < b.burst && b.rate > 0 && b.forgiven(n+1-have) {
		n++
	}
	return n
}

func (b *bucket) freeze(now int64) {
	b.settle(now)
	b.frozen = true
}

func (b *bucket) thaw(now int64) {
	b.settle(now)
	b.frozen = false
}

// ready says whether a token is there.
func (b *bucket) ready(now int64) bool {
	switch {
	case b.frozen || b.rate == 0:
		return false
	case b.rate == Unlimited:
		return true
	}
	return b.forgiven(1 - b.have(now))
}

// forgiven says whether so much of a token is missing that it takes less than a nanosecond to accrue: none then.
func (b *bucket) forgiven(missing float64) bool {
	return missing <= 0 || missing/b.rate*float64(time.Second) < 1
}

// take spends a token, which is there.
func (b *bucket) take(now int64) {
	if b.rate != Unlimited {
		b.tokens, b.at = b.have(now)-1, now
	}
}

// giveBack takes a spent token back, if there is room for it.
func (b *bucket) giveBack(now int64) {
	if b.rate != Unlimited {
		b.tokens, b.at = min(b.have(now)+1, b.burst), now
	}
}

// next is the first instant from that one on at which there is a token, by a nanosecond of rounding; false when there
// never is one.
func (b *bucket) next(from int64) (int64, bool) {
	if b.frozen || b.rate == 0 {
		return 0, false
	}
	if b.ready(from) {
		return from, true
	}
	at, ok := b.reaches(1)
	for ok && !b.ready(at) {
		at++
	}
	return max(at, from), ok
}

// full is an instant at which the bucket is full; false when it never is. One that saves no tokens up is as full as it
// gets.
func (b *bucket) full() (int64, bool) {
	if b.rate == Unlimited || b.rate == 0 {
		return b.at, true
	}
	if b.frozen {
		return 0, false
	}
	at, ok := b.reaches(b.burst)
	return at + 1, ok
}

// reaches is when there are that many tokens, but for rounding; false when it is too far away. It does not depend on the
// instant at which it is asked.
func (b *bucket) reaches(tokens float64) (int64, bool) {
	seconds := (tokens - b.tokens) / b.rate
	if seconds > maxWait.Seconds() || b.at > math.MaxInt64-int64(maxWait) {
		return 0, false
	}
	return b.at + max(0, int64(seconds*float64(time.Second))), true
}

// maxWait is beyond what a duration holds with some room: a token that far away never comes.
const maxWait = 200 * 365 * 24 * time.Hour
