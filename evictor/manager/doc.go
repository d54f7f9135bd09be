// Package manager runs an evictor within controller-runtime.
//
//	options := ctrl.Options{LeaderElection: true, LeaderElectionID: "evictor"}
//	mgr, e, err := manager.New(config, options, evictor.DefaultConfig(), manager.Options{})
//	// reconcilers: ctrl.NewControllerManagedBy(mgr)...
//	return mgr.Start(ctx)
//
// The evictor looks in every replica, so that the next leader has seen what this one has seen, and writes where the
// replica leads. It has the manager's:
//
//   - cache: nodes, pods and leases are watched once, by it and by all reconcilers. The cache's informers are those of
//     clientgo.Cluster.NewInformer, which read large clusters in pages and let the guard see watches that break, unless
//     ctrl.Options.Cache has a NewInformer. Objects are kept whole, for reconcilers may read them; where nobody else
//     reads nodes, pods and leases in full, Cache.DefaultTransform: clientgo.Slim makes them small. Leases are
//     watched in all namespaces, unless Cache.ByObject names kube-node-lease for them; a manager with a ByObject
//     cannot be made while no API server answers.
//   - election: a replica that does not see the cluster, or whose writes all fail, neither takes nor keeps the lease. A
//     manager that loses its lease ends, and the program with it.
//   - probes: /readyz says what ails it, by name.
//   - metrics, under upstream's names.
package manager
