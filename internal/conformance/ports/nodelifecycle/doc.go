// Package nodelifecycle is a port: in upstream's node lifecycle controller of v1.37.2, a health.Monitor, a
// zone.Tracker and a ratelimitqueue.Group replace the health of nodes, the states of zones and the queues. On the
// port, all 17 of its own tests pass; those of the queue itself are left out.
//
// Its code has 836 lines removed, 173 added. Removed are the folder scheduler, nodeHealthMap and most of
// tryUpdateNodeHealth, ComputeZoneState, the limiters, and a lock. Its tests have 439 lines removed, 66 added.
// Removed are all 394 lines about the queue; their port file says which of them are played elsewhere. Other tests
// let an hour pass between two passes. A Monitor treats that as a gap in its own listening of which a quarter of
// a grace period counts, so the time passes in twenty steps (listenUntil). Who begins to watch waits, so where a
// test begins with an old node, the Monitor has listened before. The rest reads states and the queue where they
// are now, and TestTryUpdateNodeHealth starts with a node that was last seen when it was created. testdata has two
// tests of ours: about the loss of all zones, for which theirs check only states, and about a node that is replaced
// by another of its name and then goes.
//
// What is gained, for one pass over nodes in three zones, half of which renewed their leases and none of which
// fails (go test -run '^$' -bench LargePass -benchtime 1x ./ports/nodelifecycle, both in turn, the least of 25):
//
//	                        5,000 nodes          15,000 nodes
//	                        theirs    port       theirs    port
//	CPU time                20.1 ms   6.2 ms     100.9 ms  36.9 ms
//	allocated               15.9 MiB  0.8 MiB    47.9 MiB  2.5 MiB
//
// Upstream copies every node in each pass, and once more what it knows about the node's health. Most real nodes are
// larger than these, which have no images. What remains are look-ups of leases, pods and zones.
//
// What is different: a gap between its own passes makes no node fail. A node that waits for its taint keeps its
// place, and moves with its zone. A zone's rate follows its size. Parameters are checked. Nothing is kept of a node
// that is gone. Leaving the loss of all zones cannot panic. The loop over nodes and the polling stay upstream's, and
// so do taints and their retries, pods, labels and events.
package nodelifecycle
