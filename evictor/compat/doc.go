// Package compat helps forks of kube-controller-manager to migrate: on top of our packages, it has the names and the
// behaviour of upstream packages that are not meant to be imported. Package limiter is for forks with queues of their
// own.
//
//	of k8s.io/kubernetes                                    of github.com/evictkit/evictkit
//	pkg/controller/nodelifecycle/scheduler                  evictor/compat/scheduler
//	pkg/controller/tainteviction, timed workers alone       evictor/compat/tainteviction
//	pkg/controller/nodelifecycle/scheduler, v1.23 to v1.26  evictor/compat/v126/scheduler: both, without loggers
//
// A fork changes the import and deletes its own copy, or keeps its folder and adds one file to it: MIGRATING.md has the
// steps, and a test takes them on copies of v1.26.15 and v1.36.3. New features, such as cancelled turns, are
// only in packages ratelimitqueue and timedworker; their documentation says what replaces each call.
//
// Tests compare the first two with upstream's in random sequences of calls. Each package's comment and DIFFERENCES.md
// list the differences.
package compat
