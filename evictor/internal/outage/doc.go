// Package outage distinguishes a failing API server from an object that cannot be written, and says what to try while
// the API server fails and once it is back.
//
// Each failed write keeps its own growing backoff. Beside that, while the API server fails, one failed write is tried
// in each interval: the one whose last try was longest ago. As soon as the API server answers this write or any other,
// all writes that failed because of it are tried again, once. A write that fails again while others are answered has a
// fault of its own, and is left to its backoff.
//
// Programs that lost the same API server must not all come back at one instant: intervals are jittered, and the writes
// tried then are bounded by the workers and by the client's rate limit.
//
// The package has no lock and no clock, and calls nobody.
package outage
