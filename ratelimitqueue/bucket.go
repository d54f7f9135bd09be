package ratelimitqueue

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// bucket is the token bucket. A rate of 0 is checked here, because a rate.Limiter of limit 0 still
// hands out a stored token; and a change of rate keeps whole tokens only.
type bucket struct {
	rate    float64
	burst   int
	limiter *rate.Limiter // nil at rate 0
	paused  float64       // tokens kept by a pause, -1 when not paused
}

func newBucket(r float64, burst int) bucket {
	b := bucket{rate: r, burst: burst, paused: -1}
	b.fill(float64(burst), time.Time{})
	return b
}

// fill starts a limiter that holds that many tokens.
func (b *bucket) fill(tokens float64, now time.Time) {
	b.limiter = nil
	if b.rate <= 0 {
		return
	}
	b.limiter = rate.NewLimiter(rate.Limit(b.rate), b.burst)
	if tokens >= float64(b.burst) {
		return
	}
	// A limiter can only be emptied; emptied that long ago it holds them now.
	since := min(tokens/b.rate, maxWait.Seconds())
	b.limiter.AllowN(now.Add(-time.Duration(since*float64(time.Second))), b.burst)
}

// tokens is how many there are, with their fraction. A stopped bucket holds none.
func (b *bucket) tokens(now time.Time) float64 {
	switch {
	case b.limiter == nil:
		return 0
	case b.paused >= 0:
		return b.paused
	}
	return min(max(b.limiter.TokensAt(now), 0), float64(b.burst))
}

func (b *bucket) setRate(r float64, now time.Time) {
	if r == b.rate {
		return
	}
	tokens := b.whole(now)
	b.rate = r
	b.fill(tokens, now)
	if b.paused >= 0 {
		b.paused = tokens
	}
}

// whole is how many items could be taken now.
func (b *bucket) whole(now time.Time) float64 {
	tokens := b.tokens(now)
	n := math.Floor(tokens)
	if n < float64(b.burst) && b.forgiven(n+1-tokens) {
		n++
	}
	return n
}

// pause keeps the tokens there are; none accrue until resume.
func (b *bucket) pause(now time.Time) { b.paused = b.tokens(now) }

func (b *bucket) resume(now time.Time) {
	tokens := b.paused
	b.paused = -1
	b.fill(tokens, now)
}

// take spends a token, if there is one.
func (b *bucket) take(now time.Time) bool {
	return b.limiter != nil && b.paused < 0 && b.ready(now) && b.limiter.AllowN(now, 1)
}

// next is the first instant, not before at, at which take succeeds; false when it never does as things
// are.
func (b *bucket) next(now, at time.Time) (time.Time, bool) {
	if b.limiter == nil || b.paused >= 0 {
		return time.Time{}, false
	}
	if at.Before(now) {
		at = now
	}
	missing := 1 - b.limiter.TokensAt(now)
	if missing <= 0 {
		return at, true
	}
	seconds := missing / b.rate
	if seconds > maxWait.Seconds() {
		return time.Time{}, false
	}
	ready := now.Add(time.Duration(seconds * float64(time.Second)))
	for !b.ready(ready) {
		ready = ready.Add(1) // the float rounding of the limiter
	}
	if ready.Before(at) {
		ready = at
	}
	return ready, true
}

// ready says whether take would succeed at that instant.
func (b *bucket) ready(at time.Time) bool { return b.forgiven(1 - b.limiter.TokensAt(at)) }

// forgiven is the limiter's own arithmetic: what takes less than a nanosecond to accrue is not missing.
func (b *bucket) forgiven(missing float64) bool {
	return missing <= 0 || missing/b.rate*float64(time.Second) < 1
}

// maxWait is beyond what a duration holds with some room: a token that far away never comes.
const maxWait = 200 * 365 * 24 * time.Hour
