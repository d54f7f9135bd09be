// Package pressure plays random series of a node's usage on the kubelet's eviction manager and on our machine, and
// parses random settings with both.
//
// The kubelet's manager runs in a bubble of virtual time, as the kubelet runs it. What it was told and what it did is
// recorded pass by pass, and replayed to ours at the same instants: the same pods must go in the same order, with the
// same grace, status, message and annotations, after the same was reclaimed, under the same conditions, and the same
// pods must be admitted. Where ours differs on purpose the replay does as the kubelet does, each difference by itself:
// a Rule, which names its row in the table of package evictor. With all rules nothing may differ. Without one of
// them, what differs is counted: a rule that never makes a difference is none.
package pressure
