// Package scheduler has the queues and the timed workers of k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler as
// they were in v1.23 to v1.26: without loggers, and both in one package. It is for forks of those versions. Packages
// evictor/compat/scheduler and evictor/compat/tainteviction do the work; their comments say what differs from upstream.
// Package evictor replaces the taint manager, which upstream has in the same folder.
//
//	of upstream                              here, beyond what those packages say
//	RateLimitedTimedQueue                    the same; Try takes only a function
//	NewRateLimitedTimedQueue, TimedValue     the same
//	CreateWorkerQueue, TimedWorkerQueue      the same: a key whose work succeeded is known until CancelWork
//	(nothing)                                TimedWorkerQueue.CancelAndWait ends the goroutines
//	WorkArgs, NewWorkArgs                    the same, with a NamespacedName
//	TimedWorker                              no Timer
//
// If work is cancelled while it runs, and other work is added under its key, the end of the first leaves the second
// alone; upstream then no longer knows the second, and cannot cancel it.
package scheduler
