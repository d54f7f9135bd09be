// Package evictortest is an in-memory cluster on a fake clock, for tests of the evictor and of controllers that run
// beside it.
//
// A Cluster has nodes with simulated kubelets, and pods bound to them. The kubelets renew their leases every ten
// seconds and report their status every five minutes. New lays the cluster out, Start starts an evictor on it, and
// Advance lets virtual time pass: kubelets renew and report, the evictor is stepped whenever it asked to be, and
// everything due at one instant is done before the clock moves on. A test gives the same result on every run. An hour
// of a small cluster takes milliseconds.
//
//	cluster := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
//	cluster.Start(evictor.DefaultConfig())
//	cluster.Fail("a-0")
//	cluster.Advance(6 * time.Minute)
//	require.Equal(t, []string{"a-0-p0", "a-0-p1"}, cluster.Evicted())
//
// The test decides what happens: it can Fail and Recover kubelets, make them report a Condition, Taint and Cordon
// nodes, label nodes and pods, add and delete them, and Restart the evictor. It also decides what goes wrong:
// FailWrites fails chosen writes, SetAPIDown fails all of them, and SetLatency makes each one take virtual time.
// Timeline returns what was written, as lines of the scenario format.
//
// If the test drives an evictor itself, with Step or Run, Clients gives that evictor the cluster's interfaces, and
// Advance moves only the clock and the kubelets. For your own controller beside an evictor, Feed tells it what changes
// and Drive steps it. Call Start, Restart, Drive and Advance one at a time; all other methods are safe for concurrent
// use, also beside them.
package evictortest
