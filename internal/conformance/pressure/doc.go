// Package pressure plays random series of a node's usage on the kubelet's eviction manager and on our machine, and
// parses random settings with both. It also makes a static pod and its mirror as a kubelet makes them.
//
// The kubelet's manager runs in a bubble of virtual time, as the kubelet runs it. Its inputs and actions are recorded
// pass by pass, and replayed to ours at the same instants. The same pods must be evicted in the same order, with the
// same grace period, status, message and annotations, after reclaiming the same, under the same conditions, and the
// same pods must be admitted. For each deliberate difference the replay imitates the kubelet. Each is a Rule, which
// names its row in DIFFERENCES.md. With all rules nothing may differ. Without one of them, differences are counted: a
// rule that never makes a difference fails the test.
package pressure
