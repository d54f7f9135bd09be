// Package scheduler has the queues of k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler, v1.36.3, on package
// ratelimitqueue.
//
// It differs from upstream in this: what is removed and added again while the function of Try works on it has a turn
// of its own afterwards, where upstream forgets it or tries the old value in its place; SwapLimiter may be called
// from that function, which locks up upstream, and what was stopped by it goes on at whatever rate comes next, also
// one of 1; equal times are served first come, first served. RateLimitedTimedQueue costs O(log n) a call.
package scheduler
