package ratelimitqueue

import (
	"math"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// bucket is a token bucket in steady time. It computes as golang.org/x/time/rate does, and has a token at the same
// instants. Unlike there, its tokens can be read, set and frozen, and at rate 0 it holds none.
type bucket struct {
	rate   float64 // 0: stopped
	burst  float64
	tokens float64 // as of at
	at     int64
	frozen bool // no tokens accrue
}

// newBucket returns a full bucket, or an empty one at rate 0.
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

// have returns how many tokens there are, with fractions. An unlimited bucket is full.
func (b *bucket) have(now int64) float64 {
	switch {
	case b.rate == Unlimited:
		return b.burst
	case b.frozen || b.rate == 0:
		return b.tokens
	}
	return min(b.tokens+time.Duration(steady.Sub(now, b.at)).Seconds()*b.rate, b.burst)
}

// note stores the tokens as they are now.
func (b *bucket) note(now int64) { b.tokens, b.at = b.have(now), now }

// setRate keeps whole tokens and no fractions.
func (b *bucket) setRate(rate float64, now int64) {
	if rate == b.rate {
		return
	}
	b.tokens, b.at = b.whole(now), now
	b.rate = rate
	b.empty()
}

// whole returns how many items could be taken now.
func (b *bucket) whole(now int64) float64 {
	have := b.have(now)
	n := math.Floor(have)
	if n < b.burst && b.rate > 0 && b.forgiven(n+1-have) {
		n++
	}
	return n
}

func (b *bucket) freeze(now int64) {
	b.note(now)
	b.frozen = true
}

func (b *bucket) thaw(now int64) {
	b.note(now)
	b.frozen = false
}

// ready reports whether there is a token.
func (b *bucket) ready(now int64) bool {
	switch {
	case b.frozen || b.rate == 0:
		return false
	case b.rate == Unlimited:
		return true
	}
	return b.forgiven(1 - b.have(now))
}

// forgiven reports whether the missing part of a token would accrue in less than a nanosecond. It then counts as there.
func (b *bucket) forgiven(missing float64) bool {
	return missing <= 0 || missing/b.rate*float64(time.Second) < 1
}

// take spends a token. The caller has checked that there is one.
func (b *bucket) take(now int64) {
	if b.rate != Unlimited {
		b.tokens, b.at = b.have(now)-1, now
	}
}

// giveBack returns a spent token to the bucket, if there is room for it.
func (b *bucket) giveBack(now int64) {
	if b.rate != Unlimited && b.rate != 0 {
		b.tokens, b.at = min(b.have(now)+1, b.burst), now
	}
}

// next returns the first instant, not before from, at which there is a token, give or take a nanosecond of rounding;
// false if there never is one.
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

// full returns an instant at which the bucket is full; false if it never is. An unlimited or stopped bucket saves no
// tokens, so it counts as full.
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

// reaches returns when there are that many tokens, apart from rounding; false if that is too far away. The answer does
// not depend on when it is called.
func (b *bucket) reaches(tokens float64) (int64, bool) {
	seconds := (tokens - b.tokens) / b.rate
	if seconds > maxWait.Seconds() || b.at > math.MaxInt64-int64(maxWait) {
		return 0, false
	}
	return b.at + max(0, int64(seconds*float64(time.Second))), true
}

// maxWait is the longest wait for a token; one further away never comes. It leaves some room below the longest Duration.
const maxWait = 200 * 365 * 24 * time.Hour
