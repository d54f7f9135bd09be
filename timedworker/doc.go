// Package timedworker runs one piece of work per key, at its time, on a bounded number of workers.
//
// A Set holds work that is due at some instant. Schedule puts it there or moves it, Cancel takes it away, and
// Get, Len, Next, Stats and Snapshot look at it. One heap and one timer serve all of it: there is no goroutine
// and no runtime timer per item.
//
//	          Schedule             its time has come
//	unknown ────────────▶ waiting ────────────────────▶ running
//	   ▲                   │   ▲                        │     │
//	   │       Cancel      │   │  Retry, RetryAfter,    │     │
//	   ├───────────────────┘   │  Blocked, Fail(err)    │     │
//	   │                       └────────────────────────┘     │
//	   └──────────────────────────────────────────────────────┘
//	                            Done, Drop
//
// The function given to New does the work, and its Result says what becomes of it. Work is claimed when it
// starts, one by one, so after Cancel has returned the work either has started, and the answer was Running, or
// it never will. Work that was called off while it runs can ask Held, and is not tried again. Checked puts a
// last check before the act: proceed, not at all, or not yet.
//
// A key is a slot. The Identity of an Entry, a UID say, tells apart what has the same key one after the other:
// work of an old object never runs for the new one, and CancelIdentity of the old one does not touch the new
// one's. Two pieces of work of one key never run side by side: what is scheduled for a key while its work runs waits
// for it, or is ignored, as the Entry says.
//
// Run is a loop with a timer and workers. Step does what is due now in line, for tests, for simulations and for
// those who come back by themselves at Next or after Wait. They are two ways to drive the same Set, not at the
// same time. Everything else may be called from any goroutine at any time, also from inside the work.
//
// # Words
//
// The package ratelimitqueue, which hands items out at a rate, uses the same words for the same things.
//
//	word                  here
//	Entry                 what is scheduled: Key, Value, Due, Identity, OnDuplicate, WhileInFlight
//	Due                   when it is to run; the zero time is now
//	place                 among equal due times: first scheduled, first run; a retry keeps it, and so does Replace
//	Identity              who has the key, a UID; none never differs, one learned late is adopted, none erases none.
//	                      Another one takes the key over, whatever the policies say
//	OnDuplicate           what becomes of due time and value of a key that waits: KeepFirst (zero), KeepEarliest,
//	                      Replace
//	in flight             running: its function has been called and has not returned
//	WhileInFlight         scheduling a key that runs: Again (zero) gives the newest entry a turn of its own once the
//	                      work is done or dropped, and lets OnDuplicate choose when it is to be tried again; Ignore
//	                      changes nothing
//	Done                  finished; the key is forgotten
//	Drop                  not wanted any more; forgotten like Done, counted apart
//	Retry                 failed: again after Config.Backoff, which grows; one more attempt
//	RetryAfter(d)         failed: again after d; one more attempt
//	Blocked(d)            not permitted yet, no failure: again after d; attempts and backoff stay
//	Fail(err)             Done for nil, Drop for what Final marked, else Retry; Get, Stats and OnError show the error
//	Held                  whether the work is still wanted, asked while it runs
//	Permission            may work be taken in and start? asked again after PermissionInterval, or by Kick
//	NotPermitted          the answer of scheduling while it is refused
//	Pause, Resume         nothing starts while there is a reason; scheduling and cancelling go on
//	Get                   one key; one that was cancelled while it runs is not known any more
//	Len                   how many wait; those that run are in Stats
//	Next, Wait            when something starts next, not before now; for how long to wait for it
//	Stats                 counts, lateness and the last error, always on
//	Snapshot, Restore     everything that is not done, as remaining times, and pauses, for another process
//	Clear                 forgets everything; what runs is not tried again
//	…At(now)              the same, with the clock's reading passed in
//
// # Time
//
// Elapsed time is what counts. Between readings of the clock that have a monotonic part, as those of the real
// clock do, that part alone tells how much time passed: setting the wall clock, by a second or by a day, moves
// no due time. Between readings without one the wall tells: forward is time, back means that none passed. A due
// time is compared with the clock once, when it is scheduled, and is a remaining time from then on. So an
// instant that another machine wrote is right as far as this machine's clock is right at that moment.
//
// # What goes wrong
//
// A panic in the work is a failed try, and so is runtime.Goexit. A panic in a function of Config does no more harm
// than that: it counts in Stats and is told to OnPanic, a permission that panics is refused, and jitter that panics
// leaves the delay as it was. No lock is held while any of them runs. A key that cannot be hashed panics in its
// caller's goroutine and changes nothing.
//
// # Coming from TimedWorkerQueue
//
// For those who use that of k8s.io/kubernetes/pkg/controller/tainteviction. A test plays each row on that of v1.36.3,
// also while work is running.
//
//	tainteviction                    here
//	CreateWorkerQueue(f)             New(f, Config{}) and Run: a bounded number of workers, not one goroutine each
//	AddWork(args, created, fire)     ScheduleEntry with WhileInFlight Ignore; Again gives another turn
//	UpdateWork(args, created, fire)  Schedule, or ScheduleEntry with Replace: behind running work it waits. Upstream
//	                                 ignores it if that was due at once or at the same time, and runs both side by
//	                                 side if not
//	CancelWork(key)                  Cancel: Cancelled, Running or NotFound; upstream says true of work that runs,
//	                                 unless it was due at once, and lets its successor run beside it
//	GetWorkerUnsafe(key)             Get, a copy, of running work too; upstream shows no work that was due at once
//	CancelAndWait()                  Clear, then end Run's context: Run returns after the work has
//	created, fire                    Due, the instant fire; upstream fires fire−created from now, whenever created was
//	key namespace/name               any comparable key; another Identity takes it over, where AddWork ignores it
//	f returns an error               Fail tries again; Fail(Final(err)) ends it, as any error does upstream
package timedworker
