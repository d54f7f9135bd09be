package parts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/evictkit/evictkit/timedworker"
)

// task is the work of a story: it takes that long and returns that error.
type task func(key, uid string) (time.Duration, error)

func at(d time.Duration) task { return func(string, string) (time.Duration, error) { return d, nil } }

// workSide is timed work with upstream's methods.
type workSide struct {
	*diary
	mu        sync.Mutex // guards the diary while work runs
	add       func(key, uid string, created, fire time.Time)
	update    func(key, uid string, created, fire time.Time)
	cancelled func(key string) bool
	known     func(key string) (known bool, fire time.Time)
	stop      func()
}

// addIn adds work that is created now and fires after d; so does updateIn.
func (w *workSide) addIn(key, uid string, d time.Duration) {
	w.add(key, uid, time.Now(), time.Now().Add(d))
	synctest.Wait()
}

func (w *workSide) updateIn(key, uid string, d time.Duration) {
	w.update(key, uid, time.Now(), time.Now().Add(d))
	synctest.Wait()
}

func (w *workSide) cancel(key string) { w.tell("cancel %s %t", key, w.cancelled(key)) }

func (w *workSide) get(key string) {
	known, fire := w.known(key)
	switch {
	case !known:
		w.tell("no %s", key)
	case fire.IsZero():
		w.tell("%s runs", key)
	default:
		w.tell("%s at %s", key, w.since(fire))
	}
}

func (w *workSide) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}

func (w *workSide) run(do task, key, uid string) error {
	w.tell("%s/%s", key, uid)
	takes, err := do(key, uid)
	if takes > 0 {
		time.Sleep(takes)
		w.tell("%s/%s over", key, uid)
	}
	return err
}

func upstreamsWork(d *diary, do task) *workSide {
	ctx := klog.NewContext(d.Context(), logr.Discard())
	w := &workSide{diary: d}
	q := tainteviction.CreateWorkerQueue(func(_ context.Context, _ time.Time, args *tainteviction.WorkArgs) error {
		return w.run(do, args.Object.Name, string(args.Object.UID))
	})
	args := func(key, uid string) *tainteviction.WorkArgs {
		args := tainteviction.NewWorkArgs(key, "ns")
		args.Object.UID = types.UID(uid)
		return args
	}
	w.add = func(key, uid string, created, fire time.Time) { q.AddWork(ctx, args(key, uid), created, fire) }
	w.update = func(key, uid string, created, fire time.Time) { q.UpdateWork(ctx, args(key, uid), created, fire) }
	w.cancelled = func(key string) bool { return q.CancelWork(logr.Discard(), args(key, "").KeyFromWorkArgs()) }
	w.known = func(key string) (bool, time.Time) {
		if worker := q.GetWorkerUnsafe(args(key, "").KeyFromWorkArgs()); worker != nil {
			return true, worker.FireAt
		}
		return false, time.Time{}
	}
	w.stop = q.CancelAndWait
	return w
}

// ourWork is used as the table says. The set is for what upstream has no method for.
func ourWork(d *diary, do task, workers int) (*workSide, *timedworker.Set[string, string]) {
	w := &workSide{diary: d}
	set, err := timedworker.New(func(_ context.Context, work timedworker.Work[string, string]) timedworker.Result {
		if err := w.run(do, work.Key, work.Value); err != nil {
			return timedworker.Retry(err)
		}
		return timedworker.Forget()
	}, timedworker.Config{Workers: workers, Backoff: timedworker.Backoff{Initial: backoff, Factor: 1, Max: backoff}})
	require.NoError(d, err)
	w.add = func(key, uid string, _, fire time.Time) {
		set.ScheduleEntry(timedworker.Entry[string, string]{Key: key, Value: uid, Due: fire, OnDuplicate: timedworker.KeepFirst})
	}
	w.update = func(key, uid string, _, fire time.Time) {
		set.Schedule(key, uid, fire)
	}
	w.cancelled = func(key string) bool { return set.Cancel(key) == timedworker.Waiting }
	w.known = func(key string) (bool, time.Time) {
		status, known := set.Get(key)
		if status.State == timedworker.InFlight {
			status.Due = time.Time{}
		}
		return known, status.Due
	}
	ctx, end := context.WithCancel(d.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		if err := set.Run(ctx); !errors.Is(err, context.Canceled) {
			d.Error(err)
		}
	})
	w.stop = func() {
		for _, is := range set.All() {
			set.Cancel(is.Key)
		}
		end()
		loop.Wait()
	}
	return w, set
}

// workStory is played with that kind of work. At its end everything left is stopped.
type workStory struct {
	do   task
	play func(*workSide)
}

func (s workStory) upstreams(t *testing.T) []string {
	return inBubble(t, func(d *diary) {
		w := upstreamsWork(d, s.do)
		s.play(w)
		w.stop()
	})
}

func (s workStory) ours(t *testing.T) []string {
	return inBubble(t, func(d *diary) {
		w, _ := ourWork(d, s.do, 8)
		s.play(w)
		w.stop()
	})
}

// both requires the same on both sides.
func (s workStory) both(t *testing.T, want ...string) {
	t.Helper()
	s.apart(t, want, want)
}

// apart requires what the row says of each side.
func (s workStory) apart(t *testing.T, upstream, ours []string) {
	t.Helper()
	require.Equal(t, upstream, s.upstreams(t), "upstream's")
	require.Equal(t, ours, s.ours(t), "ours")
}

const comingFromTimedWork = "Coming from TimedWorkerQueue"

func TestMigrationTableOfTimedWork(t *testing.T) {
	stories{
		"CreateWorkerQueue(f)":            storyOfCreateWorkerQueue,
		"AddWork(args, created, fire)":    storyOfAddWork,
		"UpdateWork(args, created, fire)": storyOfUpdateWork,
		"CancelWork(key)":                 storyOfCancelWork,
		"GetWorkerUnsafe(key)":            storyOfGetWorker,
		"CancelAndWait()":                 storyOfCancelAndWait,
		"created, fire":                   storyOfCreatedAndFire,
		"key namespace/name":              storyOfKey,
		"f returns an error":              storyOfError,
	}.play(t, "timedworker", comingFromTimedWork)
}

// The table has every method of upstream's queue.
func TestMigrationTableOfTimedWorkIsWhole(t *testing.T) {
	requireMethods(t, reflect.TypeFor[*tainteviction.TimedWorkerQueue](), tableRows(t, "timedworker", comingFromTimedWork))
}

func storyOfCreateWorkerQueue(t *testing.T) {
	story := workStory{at(time.Second), func(w *workSide) {
		for i := range 20 {
			w.addIn(fmt.Sprintf("%02d", i), "", time.Minute)
		}
		pass(time.Hour)
	}}
	most := func(lines []string) (most, all int) {
		running := 0
		for _, line := range lines {
			if strings.HasSuffix(line, "over") {
				running--
				continue
			}
			running++
			all++
			most = max(most, running)
		}
		return most, all
	}
	together, all := most(story.upstreams(t))
	require.Equal(t, 20, together, "a goroutine each")
	require.Equal(t, 20, all)
	together, all = most(story.ours(t))
	require.Equal(t, 8, together, "Config.Workers")
	require.Equal(t, 20, all)
}

func storyOfAddWork(t *testing.T) {
	for _, in := range []time.Duration{0, time.Second} { // with and without a timer
		story := workStory{at(2 * time.Second), func(w *workSide) {
			w.addIn("a", "1", in)
			if in > 0 {
				w.addIn("a", "1", in/2)
				w.addIn("a", "1", 2*in)
			}
			pass(in + 500*time.Millisecond) // it runs
			w.addIn("a", "1", 0)
			w.addIn("a", "1", time.Minute)
			pass(time.Hour)
			w.addIn("a", "1", 0) // it ran, and may be added again
			pass(5 * time.Second)
		}}
		again := time.Hour + in + 500*time.Millisecond
		story.both(t, fmt.Sprint(in, " a/1"), fmt.Sprint(in+2*time.Second, " a/1 over"),
			fmt.Sprint(again, " a/1"), fmt.Sprint(again+2*time.Second, " a/1 over"))
	}
	// Replace gives it another turn.
	again := inBubble(t, func(d *diary) {
		w, set := ourWork(d, at(2*time.Second), 8)
		w.addIn("a", "1", 0)
		require.Equal(t, timedworker.InFlight, set.ScheduleEntry(timedworker.Entry[string, string]{Key: "a", Value: "1"}))
		pass(time.Hour)
		w.stop()
	})
	require.Equal(t, []string{"0s a/1", "2s a/1 over", "2s a/1", "4s a/1 over"}, again)
}

func storyOfUpdateWork(t *testing.T) {
	workStory{at(0), func(w *workSide) { // while it waits
		w.updateIn("a", "1", time.Minute)
		w.updateIn("a", "1", time.Hour)
		w.updateIn("b", "1", time.Hour)
		w.updateIn("b", "1", time.Minute)
		w.updateIn("b", "1", time.Minute)
		w.updateIn("c", "1", time.Hour)
		w.updateIn("c", "1", 0)
		pass(2 * time.Hour)
	}}.both(t, "0s c/1", "1m0s b/1", "1h0m0s a/1")

	whileItRuns := func(in, next time.Duration) workStory {
		return workStory{at(2 * time.Second), func(w *workSide) {
			w.updateIn("a", "1", in)
			pass(in + time.Second)
			w.update("a", "1", time.Now(), time.Now().Add(next))
			pass(time.Hour)
		}}
	}
	whileItRuns(0, 500*time.Millisecond).apart(t, // it was due at once
		[]string{"0s a/1", "2s a/1 over"},
		[]string{"0s a/1", "2s a/1 over", "2s a/1", "4s a/1 over"})
	whileItRuns(time.Second, 500*time.Millisecond).apart(t, // it had a timer
		[]string{"1s a/1", "2.5s a/1", "3s a/1 over", "4.5s a/1 over"},
		[]string{"1s a/1", "3s a/1 over", "3s a/1", "5s a/1 over"})
	whileItRuns(time.Second, -time.Second).apart(t, // for the time that it had already
		[]string{"1s a/1", "3s a/1 over"},
		[]string{"1s a/1", "3s a/1 over", "3s a/1", "5s a/1 over"})
	whileItRuns(time.Second, time.Minute).both(t, "1s a/1", "3s a/1 over", "1m2s a/1", "1m4s a/1 over")
}

func storyOfCancelWork(t *testing.T) {
	workStory{at(0), func(w *workSide) { // while it waits
		w.cancel("a")
		w.addIn("a", "1", time.Minute)
		w.cancel("a")
		w.cancel("a")
		pass(time.Hour)
		w.addIn("a", "1", time.Minute)
		pass(time.Hour)
		w.cancel("a")
	}}.both(t, "0s cancel a false", "0s cancel a true", "0s cancel a false", "1h1m0s a/1", "2h0m0s cancel a false")

	whileItRuns := func(in time.Duration) workStory {
		return workStory{at(2 * time.Second), func(w *workSide) {
			w.addIn("a", "1", in)
			pass(in + time.Second)
			w.cancel("a")
			w.addIn("a", "1", 0)
			pass(time.Hour)
		}}
	}
	whileItRuns(0).apart(t, // it was due at once
		[]string{"0s a/1", "1s cancel a false", "1s a/1", "2s a/1 over", "3s a/1 over"},
		[]string{"0s a/1", "1s cancel a false", "2s a/1 over", "2s a/1", "4s a/1 over"})
	whileItRuns(time.Second).apart(t, // it had a timer
		[]string{"1s a/1", "2s cancel a true", "2s a/1", "3s a/1 over", "4s a/1 over"},
		[]string{"1s a/1", "2s cancel a false", "3s a/1 over", "3s a/1", "5s a/1 over"})
	_ = inBubble(t, func(d *diary) {
		w, set := ourWork(d, at(2*time.Second), 8)
		w.addIn("a", "1", 0)
		require.Equal(t, timedworker.InFlight, set.Cancel("a"))
		require.Equal(t, timedworker.Unknown, set.Cancel("b"))
		w.stop()
	})
}

func storyOfGetWorker(t *testing.T) {
	workStory{at(2 * time.Second), func(w *workSide) {
		w.get("a")
		w.addIn("a", "1", time.Minute)
		w.get("a")
		w.updateIn("a", "1", time.Hour)
		w.get("a")
		w.cancel("a")
		w.get("a")
		w.addIn("a", "1", time.Minute)
		pass(time.Hour)
		w.get("a")
	}}.both(t, "0s no a", "0s a at 1m0s", "0s a at 1h0m0s", "0s cancel a true", "0s no a", "1m0s a/1", "1m2s a/1 over", "1h0m0s no a")
	whileItRuns := func(in time.Duration) workStory {
		return workStory{at(2 * time.Second), func(w *workSide) {
			w.addIn("a", "1", in)
			pass(in + time.Second)
			w.get("a")
			pass(time.Hour)
		}}
	}
	whileItRuns(0).apart(t, []string{"0s a/1", "1s no a", "2s a/1 over"}, []string{"0s a/1", "1s a runs", "2s a/1 over"})
	whileItRuns(time.Second).apart(t, []string{"1s a/1", "2s a at 1s", "3s a/1 over"}, []string{"1s a/1", "2s a runs", "3s a/1 over"})
}

func storyOfCancelAndWait(t *testing.T) {
	story := workStory{at(5 * time.Second), func(w *workSide) {
		w.addIn("a", "1", 0)
		pass(time.Second)
		w.addIn("b", "1", time.Second)
		w.addIn("c", "1", time.Minute)
		pass(2 * time.Second)
		w.stop()
		w.tell("stopped")
		w.get("c")
		pass(time.Hour)
		w.tell("nothing more")
	}}
	story.both(t, "0s a/1", "2s b/1", "5s a/1 over", "7s b/1 over", "7s stopped", "7s no c", "1h0m7s nothing more")
}

func storyOfCreatedAndFire(t *testing.T) {
	workStory{at(0), func(w *workSide) {
		now := time.Now()
		w.add("a", "", now, now.Add(time.Second))
		w.add("b", "", now, now)
		synctest.Wait()
		pass(2 * time.Second)
		w.add("c", "", time.Now(), now)
		pass(time.Hour)
	}}.both(t, "0s b/", "1s a/", "2s c/")
	workStory{at(0), func(w *workSide) { // upstream takes the difference, whenever that was
		now := time.Now()
		w.add("a", "", now.Add(-10*time.Minute), now.Add(time.Minute))
		pass(time.Hour)
	}}.apart(t, []string{"11m0s a/"}, []string{"1m0s a/"})
}

func storyOfKey(t *testing.T) {
	workStory{at(0), func(w *workSide) {
		w.addIn("a", "1", time.Minute)
		w.addIn("a", "2", time.Hour)
		pass(2 * time.Hour)
	}}.both(t, "1m0s a/1")
	workStory{at(2 * time.Second), func(w *workSide) {
		w.addIn("a", "1", time.Second)
		pass(2 * time.Second)
		w.addIn("a", "2", 0)
		pass(time.Hour)
	}}.both(t, "1s a/1", "3s a/1 over")
	workStory{at(0), func(w *workSide) {
		w.addIn("a", "1", time.Minute)
		w.updateIn("a", "2", time.Hour)
		pass(2 * time.Hour)
	}}.both(t, "1h0m0s a/2")
	// With the UID in the key, each has its own time.
	each := inBubble(t, func(d *diary) {
		w, _ := ourWork(d, at(2*time.Second), 8)
		w.addIn("a-1", "1", time.Second)
		pass(2 * time.Second)
		w.addIn("a-2", "2", 0)
		pass(time.Hour)
		w.stop()
	})
	require.Equal(t, []string{"1s a-1/1", "2s a-2/2", "3s a-1/1 over", "4s a-2/2 over"}, each)
}

func storyOfError(t *testing.T) {
	failing := func(err error) workStory {
		tried := 0
		return workStory{func(string, string) (time.Duration, error) {
			if tried++; tried == 3 {
				return 0, nil
			}
			return 0, err
		}, func(w *workSide) {
			tried = 0
			w.addIn("a", "1", time.Minute)
			pass(time.Hour)
			w.get("a")
		}}
	}
	failing(errors.New("failed")).apart(t,
		[]string{"1m0s a/1", "1h0m0s no a"},
		[]string{"1m0s a/1", "1m1s a/1", "1m2s a/1", "1h0m0s no a"})
}
