// Package timedworker runs one piece of work per key when it is due, on a bounded number of workers.
//
//	type work = timedworker.Work[PodKey, Reason]
//	evictions, err := timedworker.New(func(ctx context.Context, w work) timedworker.Result {
//		if err := evict(ctx, w.Key, w.Value); err != nil { // nothing is locked here
//			return timedworker.Retry(err) // again, after a backoff
//		}
//		return timedworker.Forget()
//	}, timedworker.Config{Workers: 8})
//
//	evictions.Schedule(key, reason, at) // or moves it, if it waits
//	switch evictions.Cancel(key) {
//	case timedworker.Waiting: // now it never runs
//	case timedworker.InFlight: // it has started; it will not be tried again
//	}
//	err = evictions.Run(ctx) // or Step, or RequeueAfter: evictions.Wait()
//
// One heap and one timer serve all work: no item has a goroutine or a runtime timer of its own.
//
// # Model
//
//	         Schedule            it is due
//	Unknown ----------> Waiting ------------> InFlight
//	   ^                 |   ^                 |    |
//	   |     Cancel      |   |  Retry,         |    |
//	   +-----------------+   |  RetryAfter,    |    |
//	   |                     |  Blocked        |    |
//	   |                     +-----------------+    |
//	   |                    Forget                  |
//	   +--------------------------------------------+
//
// A worker claims work only at the moment it starts. So once Cancel has returned, the work has either started already
// or never will. Schedule, Cancel and their like return the State in which they found the key. Two pieces of work with
// the same key never run at the same time: an entry scheduled while its key's work runs waits for the end, see
// Duplicate. Held tells running work whether it is still wanted. An Identity, such as a UID, tells objects apart that
// have the same key one after the other: work for an old object never runs for the new one, and CancelIdentity for the
// old one does not touch the work of the new one.
//
// Run has a timer and workers. Step runs what is due now in the caller's goroutine, for tests, simulations and
// reconcilers. Only one Run or Step can be active at a time. All other methods may be called from any goroutine, also
// by the work itself. After a restart, schedule again what follows from objects, such as the end of a toleration. For
// what does not, a Snapshot lets another process continue: it holds remaining times, so the time in between counts for
// nothing.
//
// These words mean the same in package ratelimitqueue, which hands items out at a rate.
//
// Time is elapsed time. Setting the wall clock moves no due time, if the clock's readings have a monotonic part;
// without one, a step back counts as no time. A Set compares a due time with the clock once, when the work is
// scheduled.
//
// # What goes wrong
//
// A panic in the work is a failed try, and so is runtime.Goexit. A panic in Jitter leaves the delay as it was. Panics
// count in Stats and go to OnPanic. A key that cannot be hashed, or does not equal itself (NaN), panics in its caller
// and changes nothing.
//
// # Coming from TimedWorkerQueue
//
// For users of the one in k8s.io/kubernetes/pkg/controller/tainteviction; compared with v1.37.2.
//
//	tainteviction                    here
//	CreateWorkerQueue(f)             New(f, Config{}) and Run: a bounded number of workers, not one goroutine each
//	AddWork(args, created, fire)     ScheduleEntry with KeepFirst
//	UpdateWork(args, created, fire)  Schedule: it waits for running work to end; upstream runs both, or ignores it
//	CancelWork(key)                  Cancel. Upstream returns true for running work, unless that was due at once
//	GetWorkerUnsafe(key)             Get: a copy, also of running work
//	CancelAndWait()                  Clear, then end Run's context: Run returns after the work has
//	created, fire                    Due, the instant fire; upstream fires fire-created from now, whenever created was
//	key namespace/name               any comparable key; another Identity takes it over, where AddWork ignores it
//	f returns an error               Retry tries again; Forget ends it, as any error does upstream
package timedworker
