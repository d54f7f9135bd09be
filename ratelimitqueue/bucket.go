package ratelimitqueue

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/internal/steady"
)

// bucket is a rate.Limiter in steady time, with what that cannot do: at rate 0 there is no token, a change of rate keeps
// whole tokens but no fraction, no tokens accrue while it is frozen, and next says when there is a token.
type bucket struct {
	limiter *rate.Limiter // its limit is 0 while no tokens accrue
	rate    float64       // 0: stopped
	frozen  bool
	at      int64 // when the limiter last changed
	token   int64 // from when on there is a token, give or take a nanosecond; never if there is none
}

const (
	never = math.MaxInt64
	// maxWait is the longest wait for a token; one further away never comes. It leaves some room below the longest
	// Duration.
	maxWait = 200 * 365 * 24 * time.Hour
)

// newBucket returns a full bucket, or a stopped one at rate 0.
func newBucket(perSecond float64, burst int, now int64) bucket {
	b := bucket{rate: perSecond}
	b.fill(burst, burst, now)
	return b
}

// fill gives the bucket a new limiter that holds that many tokens.
func (b *bucket) fill(tokens, burst int, now int64) {
	b.limiter = rate.NewLimiter(b.limit(), burst)
	b.spend(burst-tokens, now)
}

// limit is the rate at which tokens accrue.
func (b *bucket) limit() rate.Limit {
	if b.frozen {
		return 0
	}
	return rate.Limit(b.rate)
}

func (b *bucket) freeze(now int64) {
	b.frozen = true
	b.setLimit(now)
}

func (b *bucket) thaw(now int64) {
	b.frozen = false
	b.setLimit(now)
}

func (b *bucket) setLimit(now int64) {
	b.limiter.SetLimitAt(b.change(now), b.limit())
	b.look()
}

// take spends a token. The caller has checked that there is one. The limiter of an unlimited bucket would spend none; not to
// ask it saves time.
func (b *bucket) take(now int64) {
	if b.rate != Unlimited {
		b.spend(1, now)
	}
}

// giveBack returns a spent token to the bucket. What exceeds the burst is lost.
func (b *bucket) giveBack(now int64) { b.spend(-1, now) }

func (b *bucket) spend(tokens int, now int64) {
	b.limiter.AllowN(b.change(now), tokens)
	b.look()
}

// change returns the time of a change. If a caller's reading is older than the last change, it is that of the last one:
// the limiter would let what accrued in between accrue twice.
func (b *bucket) change(now int64) time.Time {
	b.at = max(b.at, now)
	return instant(b.at)
}

// instant is steady time as the limiter's.
func instant(steady int64) time.Time { return time.Time{}.Add(time.Duration(steady)) }

// look finds out when there is a token after a change.
func (b *bucket) look() {
	var ok bool
	if b.token, ok = b.reaches(1); !ok {
		b.token = never
	}
}

// setRate keeps whole tokens and no fractions.
func (b *bucket) setRate(perSecond float64, now int64) {
	if perSecond == b.rate {
		return
	}
	tokens, burst := b.whole(now), b.limiter.Burst()
	b.rate = perSecond
	b.fill(tokens, burst, now)
}

// whole returns how many items could be taken now if the bucket were not frozen: an unlimited one counts as full, a stopped
// one as empty.
func (b *bucket) whole(now int64) int {
	have, burst := b.have(now), b.limiter.Burst()
	n := math.Floor(max(0, have))
	switch {
	case b.rate == 0:
		return 0
	case b.enough(have, float64(burst)):
		return burst
	case b.enough(have, n+1):
		return int(n) + 1
	}
	return int(n)
}

// have returns how many tokens the limiter holds, with fractions.
func (b *bucket) have(now int64) float64 { return b.limiter.TokensAt(instant(now)) }

// enough reports whether the limiter hands out that many tokens if it has these. It rounds waits down to nanoseconds, so it
// forgives what accrues in less than one. Only this function knows.
func (b *bucket) enough(have, tokens float64) bool {
	missing := tokens - have
	return missing <= 0 || missing/b.rate*float64(time.Second) < 1
}

// ready reports whether there is a token. From the instant token on there is one, which saves asking the limiter.
func (b *bucket) ready(now int64) bool {
	return b.token != never && (now >= b.token || b.enough(b.have(now), 1))
}

// next returns the first instant, not before from, at which there is a token, give or take a nanosecond; false if there
// never is one.
func (b *bucket) next(from int64) (int64, bool) {
	if b.ready(from) {
		return from, true
	}
	return b.token, b.token != never
}

// full returns an instant at which the bucket is full; false if it never is. An unlimited or stopped bucket saves no
// tokens, so it counts as full.
func (b *bucket) full() (int64, bool) {
	if b.rate == Unlimited || b.rate == 0 {
		return b.at, true
	}
	at, ok := b.reaches(float64(b.limiter.Burst()))
	return at + 1, ok
}

// reaches returns from when on there are that many tokens; false if never, or if that is too far away.
func (b *bucket) reaches(tokens float64) (int64, bool) {
	if b.frozen || b.rate == 0 {
		return 0, false
	}
	wait := max(0, tokens-b.have(b.at)) / b.rate
	if wait > maxWait.Seconds() {
		return 0, false
	}
	at := steady.Add(b.at, time.Duration(wait*float64(time.Second)))
	for at != never && !b.enough(b.have(at), tokens) {
		at++
	}
	return at, at != never
}
