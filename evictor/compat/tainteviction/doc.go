// Package tainteviction has the timed workers of k8s.io/kubernetes/pkg/controller/tainteviction, v1.37.2, on package
// timedworker, with one timer for all of them instead of one each.
//
// It differs from upstream:
//
//   - At most Workers pieces of work run at a time; other work that is due waits.
//   - Two pieces of work with the same key never run side by side; upstream runs work that was added after CancelWork,
//     or moved by UpdateWork, beside work that still runs.
//   - Work added after CancelWork stays known when the cancelled work ends; upstream forgets it, and cannot cancel it.
//   - Work that panics is logged, and tried again after a while; upstream's ends the process.
//   - TimedWorker has no Timer.
//   - A queue has goroutines from its first work until CancelAndWait.
package tainteviction
