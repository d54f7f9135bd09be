// Package conformance compares the library with what it replaces: the controllers of k8s.io/kubernetes, which run
// beside it in the same virtual time.
//
//   - oracle plays a scenario with upstream's own node lifecycle and taint eviction controllers, and writes a timeline
//     like the simulator's. The nested module v118 does it for v1.18.6.
//   - differential makes scenarios from seeds, plays both sides and matches the timelines.
//   - faults puts deliberate faults into our packages; differential counts which of them it reports.
//   - parts runs random operation sequences on our machines and on their originals.
//   - pressure plays random series of a node's usage on the kubelet's eviction manager and on ours.
//   - placement compares where pods may come back according to kube-scheduler's filters and to the simulator.
//   - twins plays Kubernetes' other controllers (controllermanager) in place of the simulated cluster's parts.
//   - why says which rows of DIFFERENCES explain what differs in a scenario of a user's.
//   - names checks the list of upstream's names in MIGRATING.
//   - plugin runs examples/schedulerplugin in kube-scheduler itself.
//   - sidebyside measures both on the same work.
//   - ports has upstream's controllers with our packages in them, tested by their own suites.
//   - suites plays upstream's integration, end-to-end and unit tests on those ports and on the evictor.
//   - controlplane runs examples/evictord on a real etcd and kube-apiserver, beside the real kube-controller-manager.
//
// Two packages test what only users of the examples see, and are here because of what they require: alerts runs the
// controller's alerts and dashboard in Prometheus' engine, and page opens the simulator's page in a browser.
//
// The nested module peers compares the decisions of Karpenter, Cluster API and descheduler with package budget, and has
// a port of Karpenter's. Those three are made for Kubernetes 1.36. The nested module forks swaps code of other projects
// for ours in checkouts of theirs, and runs their own tests.
package conformance
