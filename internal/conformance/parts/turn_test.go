package parts

import (
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// turn is an item that upstream handed out, and what became of it.
type turn struct {
	scheduler.TimedValue
	meanwhile func() // what happened while it was worked on, to be repeated for ours
	done      bool
	wait      time.Duration
	again     string // the identity of what was added in its place
}

// try lets upstream hand out what it does, and ours after that.
func (q *queues) try() {
	q.apart()
	var turns []turn
	q.upstream.Try(logr.Discard(), func(v scheduler.TimedValue) (bool, time.Duration) {
		w := turn{TimedValue: v, meanwhile: func() {}, done: !q.oneIn(2)}
		q.meddle(&w)
		if !w.done {
			w.wait = pick(q.script, 0, time.Second, 100*time.Millisecond, 3*time.Second)
		}
		turns = append(turns, w)
		return w.done, w.wait
	})
	for _, w := range turns {
		q.take(w)
	}
	_, ok := q.ours.Take()
	require.False(q, ok, "ours hands out more")
	q.spend()
}

// meddle adds and removes while an item is handed out.
func (q *queues) meddle(w *turn) {
	if q.steady {
		return
	}
	switch q.below(12) {
	case 6:
		w.meanwhile = q.remove(w.Value)
	case 7:
		w.meanwhile = q.remove(key(q.below(6)))
	case 8:
		w.meanwhile = q.add(w.Value, q.uid())
	case 9:
		w.meanwhile = q.add(key(q.below(6)), q.uid())
	case 10, 11:
		w.again = q.uid()
		remove, add := q.remove(w.Value), q.add(w.Value, w.again)
		w.meanwhile = func() { remove(); add() }
	}
}

// take is the same turn in ours.
func (q *queues) take(w turn) {
	q.lineUp(w.Value)
	item, ok := q.ours.Take()
	require.True(q, ok, "only upstream hands out %s", w.Value)
	require.Equal(q, w.Value, item.Key)
	require.Equal(q, w.UID, item.Value)
	if !q.requeued[w.Value] {
		status, _ := q.ours.Get(item.Key)
		require.Equal(q, w.AddedAt, status.Added)
	}
	w.meanwhile()
	if w.done {
		item.Done()
	} else {
		item.RetryAfter(w.wait + time.Nanosecond) // see spend
		q.retried[w.Value] = true
	}
	if w.again != "" {
		q.fired[addedInFlight]++
		q.again(w.Value, w.again)
	}
}

// head returns what ours would hand out next.
func (q *queues) head() (key string, due time.Time, ok bool) {
	waiting := q.ours.Waiting()
	if len(waiting) == 0 {
		return "", due, false
	}
	status, _ := q.ours.Get(waiting[0])
	return waiting[0], status.Due, true
}

// lineUp puts items that are due at the same time as upstream's choice behind it.
func (q *queues) lineUp(choice string) {
	for moved := 0; ; moved++ {
		first, due, ok := q.head()
		if !ok || first == choice {
			return
		}
		status, _ := q.ours.Get(choice)
		require.Equal(q, due, status.Due, "%s is due before %s", first, choice)
		require.Less(q, moved, 6)
		q.fired[firstCome]++
		q.ours.Remove(first)
		q.ours.AddEntry(ratelimitqueue.Entry[string, string]{Key: first, Value: q.uids[first], Due: due})
		q.requeued[first] = true
	}
}

// spend takes the token that upstream spends to find out that nothing is due. It uses an item that is due a nanosecond
// later, because upstream waits that much longer; otherwise ours would have had work for the token.
func (q *queues) spend() {
	first, due, ok := q.head()
	if !ok || !due.After(time.Now()) {
		return
	}
	q.ours.Add("token", "")
	item, ok := q.ours.Take()
	if !ok {
		require.Equal(q, ratelimitqueue.Waiting, q.ours.Remove("token"))
		return
	}
	require.Equal(q, "token", item.Key)
	item.Forget()
	if q.retried[first] && time.Until(due) == time.Nanosecond {
		q.fired[exactRetry]++
	} else {
		q.fired[tokenForNothing]++
	}
}
