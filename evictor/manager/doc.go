// Package manager runs an evictor within controller-runtime.
//
//	options := ctrl.Options{LeaderElection: true, LeaderElectionID: "evictor"}
//	mgr, e, err := manager.New(config, options, evictor.DefaultConfig(), manager.Options{})
//	// reconcilers: ctrl.NewControllerManagedBy(mgr)...
//	return mgr.Start(ctx)
//
// NewLifecycle and NewTaintEviction do the same for one half.
//
// The evictor watches in every replica, so that the next leader has seen what this one has seen, and writes only in the
// leader. It uses the manager's:
//
//   - cache: it watches nodes, pods and leases once, for the evictor and all reconcilers. Its informers are those of
//     clientgo.Cluster.NewInformer, unless ctrl.Options.Cache sets NewInformer: they read large clusters in pages, and
//     let the guard see when a watch breaks. The cache keeps whole objects, because reconcilers may read them. If
//     nobody else needs whole nodes, pods and leases, Cache.DefaultTransform: clientgo.Keep{}.Slim makes them small: a
//     typical node takes 1.6 KiB instead of 12, a pod 2.0 instead of 5.9, a lease 0.5 instead of 2.0. Labels stay,
//     and so do the annotations and owners that Keep names. The cache watches leases in all namespaces unless
//     Cache.ByObject restricts them to kube-node-lease; with a ByObject, New fails while no API server answers.
//   - leader election: a replica that cannot see the cluster, or whose writes all fail, neither takes nor keeps the
//     lease. A manager that loses its lease ends, and the program with it.
//   - probes: /readyz fails while this replica is not fit to lead, and /readyz/evictor says why.
//   - start: if the API server is too old, or denies what the evictor needs, the manager ends with the error of
//     clientgo.Cluster.Check. An API server that does not report a version is only a warning.
//   - metrics, under upstream's names.
package manager
