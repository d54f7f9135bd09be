// Package scheduler has the queues of k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler, v1.37.2, on package
// ratelimitqueue.
//
// It differs from upstream:
//
//   - A value that is removed and added again while the function of Try works on it gets a turn of its own afterwards;
//     upstream loses the value, or tries the old one instead.
//   - SwapLimiter may be called from that function, where upstream deadlocks. A queue that it has stopped resumes at
//     any later rate; upstream's stays stopped at a rate of 1.
//   - Values with equal times are processed first come, first served.
//
// Calls of RateLimitedTimedQueue cost O(log n). Two of upstream's names are not here: TimedQueue, a heap, and
// UniqueQueue, whose Add panics outside of upstream's package.
package scheduler
