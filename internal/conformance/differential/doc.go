// Package differential plays random scenarios with our evictor and with upstream's controllers, and compares the two
// timelines.
//
// Generate makes a scenario from a seed. Upstream plays it first, because it serves the waiting nodes of a zone in the
// order of a Go map and of eight workers. Our evictor then prefers that order, so that the same nodes are tainted at
// the same instants and everything after that can be compared. Compare pairs the lines. A Rule must explain every line
// that is left over, and each rule names its row in DIFFERENCES.md. Shrink makes an unexplained scenario as small as
// possible.
package differential
