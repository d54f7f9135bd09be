package ratelimitqueue

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/internal/steady"
)

// bucket is a token bucket in steady time. It hands out when a rate.Limiter of golang.org/x/time would, and says when
// that is. At rate 0 it holds no token, a change of rate keeps whole tokens but no fraction, and no tokens accrue while
// it is frozen.
type bucket struct {
	limit  rate.Limit // tokens a second; 0: stopped
	burst  float64
	frozen bool
	tokens float64 // at the instant at; the fraction of a nanosecond that a taken token had missed makes it negative
	at     int64
}

// maxWait is the longest wait for a token; one further away never comes. It leaves some room below the longest
// Duration.
const maxWait = 200 * 365 * 24 * time.Hour

// newBucket returns a full bucket, or a stopped one at rate 0.
func newBucket(limit rate.Limit, burst int, now int64) bucket {
	b := bucket{limit: limit, burst: float64(max(burst, 1)), at: now}
	if limit > 0 {
		b.tokens = b.burst
	}
	return b
}

// note accrues tokens until now. A reading older than the last one accrues nothing.
func (b *bucket) note(now int64) {
	if !b.frozen && now > b.at {
		b.tokens = min(b.tokens+float64(now-b.at)/float64(time.Second)*float64(b.limit), b.burst)
	}
	b.at = max(b.at, now)
}

func (b *bucket) freeze(now int64) {
	b.note(now)
	b.frozen = true
}

func (b *bucket) thaw(now int64) {
	b.note(now)
	b.frozen = false
}

// take spends a token. The caller has checked that there is one.
func (b *bucket) take(now int64) {
	b.note(now)
	b.tokens--
}

// giveBack returns a spent token. What exceeds the burst is lost.
func (b *bucket) giveBack() {
	if b.limit > 0 {
		b.tokens = min(b.tokens+1, b.burst)
	}
}

// setRate keeps whole tokens and no fractions: an unlimited bucket counts as full, a stopped one as empty.
func (b *bucket) setRate(limit rate.Limit, now int64) {
	if limit == b.limit {
		return
	}
	b.note(now)
	whole := math.Floor(max(b.tokens, 0))
	switch {
	case b.limit == rate.Inf:
		whole = b.burst
	case b.has(whole + 1):
		whole = min(whole+1, b.burst)
	}
	if b.limit, b.tokens = limit, whole; limit == 0 {
		b.tokens = 0
	}
}

// has reports whether the bucket holds that many tokens, frozen or not.
func (b *bucket) has(tokens float64) bool {
	at, ok := b.when(tokens)
	return ok && at <= b.at
}

// when returns from when on the bucket holds that many tokens, if it is not frozen; false if that never comes. What is
// missing by less than a nanosecond is there.
func (b *bucket) when(tokens float64) (int64, bool) {
	switch {
	case b.limit == 0:
		return 0, false
	case b.tokens >= tokens, b.limit == rate.Inf: // the quotient would be subnormal, and take a microsecond
		return b.at, true
	}
	wait := (tokens - b.tokens) / float64(b.limit)
	if wait > maxWait.Seconds() {
		return 0, false
	}
	return steady.Add(b.at, time.Duration(wait*float64(time.Second))), true
}

// next returns the first instant, not before from, at which there is a token; false if there never is one.
func (b *bucket) next(from int64) (int64, bool) {
	at, ok := b.when(1)
	return max(at, from), ok && !b.frozen
}

// ready reports whether there is a token.
func (b *bucket) ready(now int64) bool {
	at, ok := b.next(now)
	return ok && at == now
}

// full returns from when on the bucket is full; false if it never is. A stopped bucket saves no tokens, so it counts as
// full.
func (b *bucket) full() (int64, bool) {
	if b.limit == 0 {
		return b.at, true
	}
	at, ok := b.when(b.burst)
	return at, ok && !b.frozen
}
