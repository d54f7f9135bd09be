// Package tainteviction is a port: in upstream's taint eviction controller of v1.37.2, a timedworker.Set replaces its
// timed workers. On the port, all 12 of its own tests pass that are not about the workers themselves.
//
// Its code has 316 lines removed, 57 added. Removed are timed_workers.go and namespacedobject.go, the loop that tries
// five times in 50 ms to delete a pod, and code that kept an existing schedule. Its tests have
// 158 lines removed, 6 added: the four of timed_workers_test.go, about the workers themselves, run on evictor/compat,
// which has the type, and five lines ask the Set what waits. The toleration rules stay upstream's, because
// TestGetMinTolerationTime tests them. testdata has tests of ours for what is new.
//
// What is gained, for 100,000 waiting evictions on 1,000 nodes, scheduled when all nodes get a taint and cancelled when
// it is removed (go test -run '^$' -bench LargeOutage -benchtime 1x ./ports/tainteviction, both in turn, the least of
// 25):
//
//	                        theirs    port
//	CPU time a pod          2,087 ns  806 ns
//	memory a pod            384 B     136 B
//	allocations a pod       12.1      1.1
//
// What is different: a pod that cannot be deleted is retried after a growing delay until it is gone or need not be
// deleted any more, while upstream gives up after five tries. A new pod of the same name is not deleted in place of the
// old one. At most 64 pods are deleted at a time. There is no event about a cancelled deletion that has begun. The
// latency is in seconds.
package tainteviction
