// Package differential plays random scenarios with our evictor and with upstream's controllers, and compares the two
// timelines.
//
// Generate makes a scenario from a seed, and About one that is about a phenomenon. Upstream plays it first, because it
// serves the waiting nodes of a zone in the order of a Go map and of eight workers. Our evictor then prefers that
// order, so that the same nodes are tainted at the same instants and everything after that can be compared. Compare
// pairs the lines. A Rule must explain every line that is left over, and each rule names its row in DIFFERENCES.md.
// Judge knows nothing of upstream: it says which of our lines are not what our pages promise, and which are missing.
// Shrink makes a scenario that fails as small as possible.
package differential
