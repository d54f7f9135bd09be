// Package tainteviction has the timed workers of k8s.io/kubernetes/pkg/controller/tainteviction, v1.36.3, on package
// timedworker: one timer for all of them, and not one each.
//
// It differs from upstream in this: at most Workers pieces of work run at a time, and what is due then waits; two
// pieces of work with one key never run side by side, where upstream runs what was added after CancelWork, or moved
// by UpdateWork, beside work that still runs; TimedWorker has no Timer; a queue has goroutines from its first work to
// CancelAndWait.
package tainteviction
