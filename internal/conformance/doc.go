// Package conformance compares the library with what it replaces: the controllers of k8s.io/kubernetes,
// run beside it in the same virtual time.
//
//   - oracle plays a scenario with upstream's own node lifecycle and taint eviction controllers and writes the
//     timeline that the simulator writes for ours. The nested module v118 does it for v1.18.6.
//   - differential makes scenarios from seeds, plays both sides and matches the timelines.
//   - parts runs random operation sequences on our machines and on their originals.
//   - pressure plays random series of a node's usage on the kubelet's eviction manager and on ours.
//   - sidebyside measures both on the same work.
package conformance
