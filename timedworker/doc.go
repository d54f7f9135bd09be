// Package timedworker runs one piece of work per key, at its time, on a bounded number of workers.
//
// A Set holds work that is due at some instant: Schedule puts it there or moves it, Cancel takes it away,
// Get, Len, Next and Snapshot look at it. There is one heap and one timer for all of it, no goroutine and no
// runtime timer per item. Work is claimed one by one when it starts, so after Cancel has returned
// the work either has started, and the answer was Running, or it never will.
//
// The function given to New says what becomes of a try: Done, Drop, Retry (with growing backoff),
// RetryAfter, Blocked (not a failure, it only has to wait) or Fail. A panic is a failed try. Checked puts a
// last check before the act, which answers Proceed, Cancel or Delay.
//
// A key is a slot; the identity in Entry tells apart what has the same name one after the other. Work of
// an old identity never runs for the new one, and a late Cancel of the old one does not hit the new one. What is scheduled for
// a key while its work runs waits for it and then takes its place.
//
// Run is a loop with a timer and workers. Step does what is due now in line, for tests, simulations and
// those who come back by themselves at Next. They are two ways to drive the same Set, not at the same time.
//
// # Coming from TimedWorkerQueue
//
//	TimedWorkerQueue                      here
//	AddWork(args, created, fire)          ScheduleEntry with KeepFirst; Schedule moves
//	UpdateWork                            Schedule
//	CancelWork, true even when running    Cancel: Cancelled, Running or NotFound
//	CancelAndWait                         Cancel, then end Run's context, which waits
//	GetWorkerUnsafe                       Get, a copy
//	key namespace/name                    any comparable key, with an identity
//	error ends the work                   Retry or Fail keep it until it is done
package timedworker
