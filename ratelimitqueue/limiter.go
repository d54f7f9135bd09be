package ratelimitqueue

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// askAgain is the longest wait that a Limiter tells, so that a change of its rate is noticed soon.
const askAgain = 10 * time.Second

// Limiter is one rate for a whole process, which [Limiter.SetRate] can change at any moment. It has the methods of
// client-go's workqueue.TypedRateLimiter, for those who keep a queue of their own. A worker asks [Limiter.When] right
// before it works on an item, however the item came to it:
//
//	item, _ := queue.Get()
//	if wait := limiter.When(item); wait > 0 {
//		queue.AddAfter(item, wait) // and asks again
//	} else {
//		work(item)
//	}
//	queue.Done(item)
//
// However many workers ask, no more items go than the rate allows. AddRateLimited alone does not keep to a rate that
// falls: it asks once, when it puts the item off, and not again when the item comes back.
//
// An item that was told to wait keeps its place in line until it goes or you Forget it. So forget an item that will not
// come back: it would cost a token. All methods are safe for concurrent use. A Limiter must be made by NewLimiter.
type Limiter[T comparable] struct {
	steady  steady.Guard // guards the rest
	bucket  bucket
	tickets due.Map[T, ticket]
	last    uint64              // the number of the ticket that was given last
	let     uint64              // tickets up to this number have a token, or were forgotten before
	gone    map[uint64]struct{} // later tickets that were forgotten
}

// ticket is a place in line.
type ticket struct {
	number uint64
	asked  int
}

// NewLimiter returns a Limiter with a full bucket, or an error with all faults of the configuration. It uses only Rate,
// Burst and Clock of it, and starts no goroutine.
func NewLimiter[T comparable](config Config) (*Limiter[T], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("ratelimitqueue: %w", err)
	}
	config = config.withDefaults()
	l := &Limiter[T]{bucket: newBucket(config.Rate, config.Burst, 0), gone: make(map[uint64]struct{})}
	l.steady.Clock = config.Clock
	if config.Clock == nil {
		l.steady.Clock = clock.RealClock{}
	}
	l.steady.Time.Read(l.steady.Clock.Now())
	return l, nil
}

// When returns 0 if the item may go now, which spends a token. Otherwise it returns how long to wait before asking
// again: until the item's turn, but at most 10 seconds, and always 10 seconds while the rate is 0.
func (l *Limiter[T]) When(item T) time.Duration {
	now := l.steady.Read()
	defer l.steady.Unlock()
	l.advance(now)
	t := l.tickets.Get(item)
	switch {
	case t == nil && l.let == l.last && l.bucket.ready(now):
		l.bucket.take(now)
		return 0
	case t == nil:
		l.last++
		t = l.tickets.Add(item)
		t.number = l.last
	case t.number <= l.let:
		l.tickets.Delete(item, t)
		return 0
	}
	t.asked++
	first, ok := l.bucket.next(now)
	if !ok {
		return askAgain
	}
	ahead := float64(t.number-l.let-1) / l.bucket.rate * float64(time.Second)
	if ahead > float64(askAgain) {
		return askAgain
	}
	return min(max(time.Duration(first-now)+time.Duration(ahead), 1), askAgain)
}

// advance gives the tokens that have accrued to those in line. The lock is held.
func (l *Limiter[T]) advance(now int64) {
	for l.let < l.last {
		if _, gone := l.gone[l.let+1]; gone {
			delete(l.gone, l.let+1)
		} else {
			at, ok := l.bucket.next(l.bucket.at)
			if !ok || at > now {
				return
			}
			l.bucket.take(at)
		}
		l.let++
	}
}

// Forget takes the item out of the line, and forgets how often it has asked.
func (l *Limiter[T]) Forget(item T) {
	now := l.steady.Read()
	defer l.steady.Unlock()
	l.advance(now)
	if t := l.tickets.Get(item); t != nil {
		if t.number > l.let {
			l.gone[t.number] = struct{}{}
		}
		l.tickets.Delete(item, t)
	}
}

// NumRequeues returns how often the item was told to wait since it last went or was forgotten.
func (l *Limiter[T]) NumRequeues(item T) int {
	l.steady.Lock()
	defer l.steady.Unlock()
	if t := l.tickets.Get(item); t != nil {
		return t.asked
	}
	return 0
}

// SetRate changes the rate, like Queue.SetRate.
func (l *Limiter[T]) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	now := l.steady.Read()
	defer l.steady.Unlock()
	l.advance(now)
	l.bucket.setRate(max(rate, 0), now)
	return nil
}

// Rate returns the current rate, like Queue.Rate.
func (l *Limiter[T]) Rate() float64 {
	l.steady.Lock()
	defer l.steady.Unlock()
	return l.bucket.rate
}
