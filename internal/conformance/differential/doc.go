// Package differential plays made-up scenarios with our evictor and with upstream's controllers, and matches
// the two timelines.
//
// Generate makes a scenario from a seed. Upstream plays it first, because the order in which it serves nodes
// that wait in one zone is that of a Go map and of eight workers: ours is then told to prefer that order, so that
// the same nodes are tainted at the same moments and everything after can be compared. Compare pairs the
// lines; what is left over must be explained by a Rule, and each rule names its row in the table of
// package evictor. Shrink makes a scenario that is not explained as small as it can be.
package differential
