// Package timedworker runs one piece of work per key when it is due, on a bounded number of workers.
//
//	type work = timedworker.Work[podKey, string]
//	evictions, err := timedworker.New(func(ctx context.Context, w work) timedworker.Result {
//		if err := evict(ctx, w.Key, w.Value); err != nil { // nothing is locked here
//			return timedworker.Retry(err) // again, after a backoff
//		}
//		return timedworker.Forget()
//	}, timedworker.Config{Workers: 8, Clock: clk})
//
//	evictions.Schedule(cart7, "unreachable", clk.Now().Add(5*time.Minute))
//	evictions.Schedule(cart7, "maintenance", clk.Now().Add(time.Minute)) // it waits, so it is moved
//	switch evictions.Cancel(cart8) {
//	case timedworker.Waiting: // now it never runs
//	case timedworker.InFlight: // it has started; it will not be tried again
//	case timedworker.Unknown:
//	}
//	err = evictions.Run(ctx) // or Step, which runs what is due now
//
// One heap and one timer serve all work: no item has a goroutine or a runtime timer of its own.
//
// # Model
//
//	         Schedule            it is due
//	Unknown ----------> Waiting ------------> InFlight
//	   ^                 |   ^                 |    |
//	   |     Cancel      |   | Retry, Blocked  |    |
//	   +-----------------+   +-----------------+    |
//	   |                    Forget                  |
//	   +--------------------------------------------+
//
// A worker claims work only at the moment it starts. So once Cancel has returned, the work has either started already
// or never will. Schedule and Cancel return the State in which they found the key.
//
// Two pieces of work with the same key never run at the same time. An entry scheduled while its key's work runs waits
// for the end: see Duplicate. Objects that have the same name one after the other need different keys. Put what tells
// them apart, such as a UID, into the key: then work for an old object never runs for the new one, and a late event
// about the old one does not cancel the work of the new one.
//
// Run has a timer and workers. Step runs what is due now in the caller's goroutine, for tests, simulations and
// reconcilers, whose RequeueAfter follows from Next. Only one Run or Step can be active at a time. All other methods
// may be called from any goroutine, also by the work itself. After a restart, schedule again what follows from objects,
// such as the end of a toleration.
//
// These words mean the same in package ratelimitqueue, which hands items out at a rate.
//
// Time is elapsed time. Setting the wall clock moves no due time, if the clock's readings have a monotonic part.
// Without one, what passes between two readings counts, but no step back, and none of over 292 years. A Set compares a
// due time with the clock once, at the call that names it.
//
// # What goes wrong
//
// A panic in the work is a failed try, whose error wraps the panic's if that is one. So is runtime.Goexit, of which
// OnPanic is not told; under Step it then ends Step's caller. A panic in Jitter leaves the delay as it was. A key that
// cannot be hashed panics in its caller and schedules nothing. So does one that does not equal itself (NaN), when it is
// scheduled. What is due more than 292 years after New counts as due then.
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
//	CancelAndWait()                  Cancel each of All and end Run's context: Run returns after the work has
//	created, fire                    Due, the instant fire; upstream fires fire-created from now, whenever created was
//	key namespace/name               any comparable key; with the UID in it, a new pod's work is work of its own
//	f returns an error               Retry tries again; Forget ends it, as any error does upstream
package timedworker
