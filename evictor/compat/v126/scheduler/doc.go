// Package scheduler has the queues and the timed workers of k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler as
// they were in v1.23 to v1.26: without loggers, and both in one package. It is for forks of those versions. Packages
// evictor/compat/scheduler and evictor/compat/tainteviction do the work; their comments say what differs from upstream.
// Package evictor replaces the taint manager, which upstream has in the same folder.
//
//	of upstream                              here, beyond what those packages say
//	RateLimitedTimedQueue, UniqueQueue       the same; Try takes only a function
//	NewRateLimitedTimedQueue, TimedValue     the same
//	CreateWorkerQueue, TimedWorkerQueue      work that succeeded is forgotten; upstream keeps its key until CancelWork
//	(nothing)                                TimedWorkerQueue.CancelAndWait ends the goroutines
//	WorkArgs, NewWorkArgs                    the same, with a NamespacedName
//	TimedWorker                              no Timer
package scheduler
