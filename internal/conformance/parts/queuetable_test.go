package parts

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// handedOut is what fn gets of an item.
type handedOut struct {
	key, uid   string
	added, due time.Time
}

// fn is upstream's: it returns whether the item is done and, if not, when to try again.
type fn func(handedOut) (bool, time.Duration)

// queueSide is a queue with upstream's methods.
type queueSide struct {
	*diary
	isOurs bool
	add    func(key, uid string) bool
	try    func(fn)
	remove func(key string) bool
	clear  func()
	swap   func(qps float64)
}

// tryTo tries, and notes what was handed out.
func (q *queueSide) tryTo(f fn) {
	q.try(func(v handedOut) (bool, time.Duration) {
		q.note("%s/%s", v.key, v.uid)
		return f(v)
	})
}

func isDone(handedOut) (bool, time.Duration) { return true, 0 }

func retryIn(wait time.Duration) fn {
	return func(handedOut) (bool, time.Duration) { return false, wait }
}

// poll tries at regular intervals.
func (q *queueSide) poll(times int, every time.Duration, f fn) {
	for range times {
		pass(every)
		q.tryTo(f)
	}
}

func (q *queueSide) noteAdd(key, uid string) { q.note("add %s/%s %t", key, uid, q.add(key, uid)) }

func (q *queueSide) noteRemove(key string) { q.note("remove %s %t", key, q.remove(key)) }

func upstreamsQueue(d *diary, qps float64, burst int) (*queueSide, *scheduler.RateLimitedTimedQueue) {
	q := scheduler.NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(float32(qps), burst))
	return &queueSide{
		diary: d,
		add:   func(key, uid string) bool { return q.Add(key, uid) },
		try: func(f fn) {
			q.Try(logr.Discard(), func(v scheduler.TimedValue) (bool, time.Duration) {
				uid, _ := v.UID.(string)
				return f(handedOut{v.Value, uid, v.AddedAt, v.ProcessAt})
			})
		},
		remove: q.Remove,
		clear:  q.Clear,
		swap:   func(qps float64) { q.SwapLimiter(float32(qps)) },
	}, q
}

// ourQueue is used as the table says.
func ourQueue(d *diary, qps float64, burst int) (*queueSide, *ratelimitqueue.Queue[string, string]) { // values are UIDs
	q, err := ratelimitqueue.New[string, string](ratelimitqueue.Config{Rate: rate.Limit(qps), Burst: burst})
	require.NoError(d, err)
	return &queueSide{
		diary: d, isOurs: true,
		add: func(key, uid string) bool {
			return q.AddEntry(ratelimitqueue.Entry[string, string]{Key: key, Value: uid, OnDuplicate: ratelimitqueue.KeepFirst}) == ratelimitqueue.Unknown
		},
		try: func(f fn) {
			for item, ok := q.Take(); ok; item, ok = q.Take() {
				status, _ := q.Get(item.Key)
				if done, wait := f(handedOut{item.Key, item.Value, status.Added, item.Due}); done {
					item.Done()
				} else {
					item.RetryAfter(wait)
				}
			}
		},
		remove: func(key string) bool { return q.Remove(key) != ratelimitqueue.Unknown },
		clear:  q.Clear,
		swap:   func(qps float64) { require.NoError(d, q.SetRate(rate.Limit(qps))) },
	}, q
}

// queueStory is played on queues with this rate and burst.
type queueStory struct {
	rate  float64
	burst int
	play  func(*queueSide)
}

// both requires the same on both sides.
func (s queueStory) both(t *testing.T, want ...string) {
	t.Helper()
	s.apart(t, want, want)
}

// apart requires what the row says of each side.
func (s queueStory) apart(t *testing.T, upstream, ours []string) {
	t.Helper()
	require.Equal(t, upstream, inBubble(t, func(d *diary) {
		q, _ := upstreamsQueue(d, s.rate, s.burst)
		s.play(q)
	}), "upstream's")
	require.Equal(t, ours, inBubble(t, func(d *diary) {
		q, _ := ourQueue(d, s.rate, s.burst)
		s.play(q)
	}), "ours")
}

// quick returns a story in which there is always a token.
func quick(play func(*queueSide)) queueStory { return queueStory{1000, 1000, play} }

func TestMigrationTableOfTheQueue(t *testing.T) {
	stories{
		"NewRateLimitedTimedQueue(limiter)": storyOfNew,
		"TimedValue":                        storyOfTimedValue,
		"Add(value, uid)":                   storyOfAdd,
		"Try(fn)":                           storyOfTry,
		"fn returns true":                   storyOfTrue,
		"fn returns false, wait":            storyOfFalse,
		"Remove, then Add, during fn":       storyOfRemoveAndAdd,
		"SwapLimiter(qps)":                  storyOfSwapLimiter,
	}.play(t, "ratelimitqueue", "Coming from nodelifecycle/scheduler")
}

// What has the same name here, and does the same, has no row.
func TestNamesThatStay(t *testing.T) {
	t.Run("Remove", storyOfRemove)
	t.Run("Clear", storyOfClear)
}

// The table has every other method of upstream's queue.
func TestMigrationTableOfTheQueueIsWhole(t *testing.T) {
	rows := tableRows(t, "ratelimitqueue", "Coming from nodelifecycle/scheduler")
	requireMethods(t, reflect.TypeFor[*scheduler.RateLimitedTimedQueue](), append(rows, "Remove(value)", "Clear()"))
}

// requireMethods requires a row for each method, except those of an embedded sync.Mutex, which are not for callers.
func requireMethods(t *testing.T, of reflect.Type, rows []string) {
	for method := range of.Methods() {
		name := method.Name
		if _, isMutex := reflect.TypeFor[*sync.Mutex]().MethodByName(name); isMutex {
			continue
		}
		found := false
		for _, row := range rows {
			found = found || len(row) > len(name) && row[:len(name)+1] == name+"("
		}
		require.True(t, found, "%s has no row", name)
	}
}

func storyOfNew(t *testing.T) {
	queueStory{1, 2, func(q *queueSide) {
		for _, key := range []string{"a", "b", "c", "d"} {
			q.add(key, "")
			pass(time.Millisecond)
		}
		q.tryTo(isDone)
		q.poll(10, 250*time.Millisecond, isDone)
	}}.both(t, "4ms a/", "4ms b/", "1.004s c/", "2.004s d/")
	looksTooEarly := func(q *queueSide) {
		q.add("a", "")
		q.tryTo(retryIn(1500 * time.Millisecond))
		q.poll(8, 250*time.Millisecond, isDone)
	}
	queueStory{1, 1, looksTooEarly}.apart(t, []string{"0s a/", "2s a/"}, []string{"0s a/", "1.5s a/"})
	queueStory{0, 1, func(q *queueSide) {
		q.add("a", "")
		q.poll(2, time.Hour, retryIn(0))
	}}.apart(t, []string{"1h0m0s a/"}, nil)
}

func storyOfTimedValue(t *testing.T) {
	quick(func(q *queueSide) {
		pass(time.Second)
		q.add("a", "1")
		for range 2 {
			pass(time.Second)
			q.try(func(v handedOut) (bool, time.Duration) {
				q.note("%s/%s added %s due %s", v.key, v.uid, q.since(v.added), q.since(v.due))
				return false, 500 * time.Millisecond
			})
		}
	}).both(t, "2s a/1 added 1s due 1s", "3s a/1 added 1s due 2.5s")
}

func storyOfAdd(t *testing.T) {
	quick(func(q *queueSide) {
		q.noteAdd("a", "1")
		q.noteAdd("a", "1")
		for _, done := range []bool{false, true} {
			pass(time.Second)
			q.tryTo(func(v handedOut) (bool, time.Duration) {
				q.noteAdd(v.key, v.uid)
				return done, 500 * time.Millisecond
			})
		}
		q.noteAdd("a", "1")
		q.poll(3, time.Second, isDone)
		q.noteRemove("a")
		q.noteAdd("a", "1")
		q.poll(3, time.Second, isDone)
	}).both(t, "0s add a/1 true", "0s add a/1 false",
		"1s a/1", "1s add a/1 false", "2s a/1", "2s add a/1 false", "2s add a/1 false",
		"5s remove a true", "5s add a/1 true", "6s a/1")

	waiting := quick(func(q *queueSide) {
		q.add("a", "1")
		q.noteAdd("a", "2")
		q.poll(3, time.Second, isDone)
	})
	waiting.both(t, "0s add a/2 false", "1s a/1")
	inFlight := quick(func(q *queueSide) {
		q.add("a", "1")
		q.tryTo(func(v handedOut) (bool, time.Duration) {
			if v.uid == "1" {
				q.noteAdd("a", "2")
			}
			return true, 0
		})
		q.poll(3, time.Second, isDone)
	})
	inFlight.both(t, "0s a/1", "0s add a/2 false")
	done := quick(func(q *queueSide) {
		q.add("a", "1")
		q.tryTo(isDone)
		q.noteAdd("a", "2")
		q.poll(3, time.Second, isDone)
	})
	done.both(t, "0s a/1", "0s add a/2 false")
}

func storyOfTry(t *testing.T) {
	queueStory{0.1, 3, func(q *queueSide) {
		q.add("a", "")
		pass(time.Second)
		q.add("b", "")
		pass(time.Second)
		q.add("c", "")
		q.remove("b")
		q.tryTo(func(v handedOut) (bool, time.Duration) {
			if v.key == "a" {
				pass(time.Second)
				q.add("d", "")
				pass(time.Second)
				q.add("e", "")
			}
			return true, 0
		})
		q.poll(20, time.Second, isDone)
	}}.both(t, "2s a/", "4s c/", "4s d/", "12s e/")

	// Whether others can use the queue meanwhile.
	meanwhile := make(chan bool)
	q, upstream := upstreamsQueue(newDiary(t), 1, 1)
	q.add("a", "")
	q.try(func(handedOut) (bool, time.Duration) {
		go func() { meanwhile <- limiterLock(upstream).TryLock() }()
		require.False(t, <-meanwhile, "a second Try or SwapLimiter would wait")
		return true, 0
	})
	q, ours := ourQueue(newDiary(t), 1, 2)
	q.add("a", "")
	q.add("b", "")
	tried := 0
	q.try(func(v handedOut) (bool, time.Duration) {
		tried++
		go func() {
			_, ok := ours.Take()
			meanwhile <- ok
		}()
		require.True(t, <-meanwhile, "another takes beside it")
		return true, 0
	})
	require.Equal(t, 1, tried)
}

// limiterLock is the lock that upstream's Try holds while it calls fn, and that SwapLimiter takes.
func limiterLock(q *scheduler.RateLimitedTimedQueue) *sync.Mutex {
	return (*sync.Mutex)(reflect.ValueOf(q).Elem().FieldByName("limiterLock").Addr().UnsafePointer())
}

func storyOfTrue(t *testing.T) {
	quick(func(q *queueSide) {
		q.add("a", "1")
		q.tryTo(isDone)
		q.noteAdd("a", "1")
		q.poll(3, time.Hour, isDone)
		q.noteRemove("a")
		q.noteRemove("a")
		q.noteAdd("a", "1")
		q.tryTo(isDone)
	}).both(t, "0s a/1", "0s add a/1 false", "3h0m0s remove a true", "3h0m0s remove a false", "3h0m0s add a/1 true", "3h0m0s a/1")
	// Forget would be something else.
	forgotten := inBubble(t, func(d *diary) {
		q, ours := ourQueue(d, 1000, 1000)
		q.add("a", "1")
		item, _ := ours.Take()
		item.Forget()
		q.noteAdd("a", "1")
	})
	require.Equal(t, []string{"0s add a/1 true"}, forgotten)
}

func storyOfFalse(t *testing.T) {
	quick(func(q *queueSide) {
		q.add("a", "1")
		pass(time.Millisecond)
		q.add("b", "1")
		q.tryTo(func(v handedOut) (bool, time.Duration) { return v.key == "b", 2 * time.Second })
		q.noteAdd("a", "1")
		q.poll(8, 500*time.Millisecond, isDone)
	}).apart(t, []string{"1ms a/1", "1ms b/1", "1ms add a/1 false", "2.501s a/1"}, []string{"1ms a/1", "1ms b/1", "1ms add a/1 false", "2.001s a/1"})
	quick(func(q *queueSide) { // by a nanosecond
		q.add("a", "1")
		q.tryTo(retryIn(2 * time.Second))
		pass(2*time.Second + time.Nanosecond)
		q.tryTo(isDone)
	}).both(t, "0s a/1", "2s a/1")
}

func storyOfRemove(t *testing.T) {
	quick(func(q *queueSide) {
		q.noteRemove("a")
		for _, key := range []string{"a", "b", "c"} {
			q.add(key, "")
			pass(time.Second)
		}
		q.noteRemove("b")
		q.tryTo(func(v handedOut) (bool, time.Duration) {
			q.noteRemove(v.key)
			return v.key == "c", 0
		})
		q.noteRemove("c")
		q.poll(3, time.Second, isDone)
	}).both(t, "0s remove a false", "3s remove b true", "3s a/", "3s remove a true", "3s c/", "3s remove c true", "3s remove c false")
	_, ours := ourQueue(newDiary(t), 1, 1)
	ours.Add("a", "")
	_, ok := ours.Take()
	require.True(t, ok)
	require.Equal(t, ratelimitqueue.InFlight, ours.Remove("a"))
}

func storyOfRemoveAndAdd(t *testing.T) {
	story := func(done bool) queueStory {
		return quick(func(q *queueSide) {
			q.add("a", "1")
			q.tryTo(func(v handedOut) (bool, time.Duration) {
				if v.uid == "1" {
					q.noteRemove("a")
					q.noteAdd("a", "2")
				}
				return done || v.uid == "2", 500 * time.Millisecond
			})
			q.poll(3, time.Second, isDone)
		})
	}
	begin := []string{"0s a/1", "0s remove a true", "0s add a/2 true"}
	story(true).apart(t, begin, append(begin[:3:3], "0s a/2"))
	story(false).apart(t, append(begin[:3:3], "1s a/1"), append(begin[:3:3], "0s a/2"))
}

func storyOfClear(t *testing.T) {
	quick(func(q *queueSide) {
		for _, key := range []string{"a", "b", "c"} {
			q.add(key, "")
			pass(time.Second)
		}
		q.tryTo(func(v handedOut) (bool, time.Duration) {
			if v.key == "b" {
				q.clear()
			}
			return v.key == "a", time.Second
		})
		q.poll(3, time.Second, isDone)
		for _, key := range []string{"a", "b", "c"} {
			q.noteRemove(key)
			q.noteAdd(key, "")
			pass(time.Second)
		}
		q.tryTo(isDone)
	}).both(t, "3s a/", "3s b/",
		"6s remove a false", "6s add a/ true", "7s remove b false", "7s add b/ true", "8s remove c false", "8s add c/ true",
		"9s a/", "9s b/", "9s c/")
}

func storyOfSwapLimiter(t *testing.T) {
	filled := func(q *queueSide) {
		for _, key := range []string{"a", "b", "c", "d"} {
			q.add(key, "")
			pass(time.Millisecond)
		}
		pass(time.Second)
	}
	queueStory{0.1, 1, func(q *queueSide) { // an item that waits for a token goes on waiting; 0 stops it and forgets nothing
		filled(q)
		q.tryTo(isDone)
		q.swap(0.5)
		q.swap(0.5)
		q.poll(3, time.Second, isDone)
		q.swap(0)
		q.poll(100, time.Second, isDone)
		q.swap(0.25)
		q.poll(8, time.Second, isDone)
	}}.both(t, "1.004s a/", "3.004s b/", "1m48.004s c/", "1m52.004s d/")
	queueStory{0.1, 1, func(q *queueSide) { // an available token stays
		filled(q)
		q.swap(0.5)
		q.tryTo(isDone)
		q.poll(2, time.Second, isDone)
	}}.both(t, "1.004s a/", "3.004s b/")
	queueStory{2, 1, func(q *queueSide) { // from a stop to exactly 1
		filled(q)
		q.swap(0)
		q.swap(1)
		q.poll(3, time.Second, isDone)
	}}.apart(t, nil, []string{"2.004s a/", "3.004s b/", "4.004s c/"})
	queueStory{0.1, 2, func(q *queueSide) { // with a burst of 2
		filled(q)
		q.swap(0.5)
		q.tryTo(isDone)
	}}.apart(t, []string{"1.004s a/"}, []string{"1.004s a/", "1.004s b/"})
	queueStory{0.1, 1, func(q *queueSide) { // from within the work
		filled(q)
		q.tryTo(func(handedOut) (bool, time.Duration) {
			if q.isOurs { // upstream would never return, see storyOfTry
				q.swap(1)
			}
			return true, 0
		})
		q.poll(2, time.Second, isDone)
	}}.apart(t, []string{"1.004s a/"}, []string{"1.004s a/", "2.004s b/", "3.004s c/"})
}
