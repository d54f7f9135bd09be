// Package evictortest is an in-memory cluster on a fake clock for tests: of the evictor, and of
// controllers that live beside it.
//
// A Cluster has nodes with simulated kubelets, which renew their leases every ten seconds and report
// their status every five minutes, and pods bound to them. New lays it out, Start begins an evictor on
// it, Advance lets virtual time pass: kubelets have their turns, the evictor is stepped whenever it
// asked to be, and every instant is played in full before the clock moves on. The same test gives the
// same result on every run, in microseconds.
//
//	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
//	cluster.Start(evictor.DefaultConfig())
//	cluster.Fail("a-0")
//	cluster.Advance(6 * time.Minute)
//	require.Equal(t, []string{"a-0-p0", "a-0-p1"}, cluster.Evicted())
//
// What happens is up to the test: Fail and Recover kubelets, let them report a Condition, Taint, Cordon,
// add and delete nodes and pods, Restart the evictor. What goes wrong is too: FailWrites decides about
// each write, SetAPIDown fails them all, SetLatency makes each one take virtual time. Timeline tells what was
// written, as the lines of the scenario format.
//
// Clients gives the cluster's interfaces to an evictor that the test drives itself, with Step or with Run; then
// Advance moves the clock and the kubelets only. A controller of the test's own that lives beside an evictor is told
// what changes by Feed, and stepped by Drive. Start, Restart, Drive and Advance are called one at a time; all other
// methods are safe for concurrent use, beside them too.
package evictortest
