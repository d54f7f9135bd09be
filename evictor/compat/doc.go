// Package compat is for those who come from a fork of kube-controller-manager: its packages have the names, and the
// behaviour, of two packages that cannot be imported, on top of ours.
//
//	of k8s.io/kubernetes                     of github.com/evictkit/evictkit
//	pkg/controller/nodelifecycle/scheduler   evictor/compat/scheduler
//	pkg/controller/tainteviction             evictor/compat/tainteviction: the timed workers of it
//
// A fork changes the import and deletes its folder. What is new, a cancelled turn, an identity, a snapshot, is to be
// had from packages ratelimitqueue and timedworker themselves, whose documentation says what becomes of each call.
//
// Both are compared with upstream's own in random sequences of calls. Where they differ stands in each package's
// comment, and in DIFFERENCES.md.
package compat
