// Package compat helps forks of kube-controller-manager to migrate: its packages have the names and the behaviour of
// two upstream packages that cannot be imported, on top of ours.
//
//	of k8s.io/kubernetes                     of github.com/evictkit/evictkit
//	pkg/controller/nodelifecycle/scheduler   evictor/compat/scheduler
//	pkg/controller/tainteviction             evictor/compat/tainteviction: the timed workers of it
//
// A fork changes the import and deletes its own copy. New features, such as cancelled turns, identities and snapshots,
// are in packages ratelimitqueue and timedworker themselves; their documentation says what replaces each call.
//
// Tests compare both packages with upstream's in random sequences of calls. Each package's comment and DIFFERENCES.md
// list the differences.
package compat
