// Package outage tells an API server that fails from an object that cannot be written, and says what to try while it
// fails and when it is back.
//
// Whatever failed keeps its own backoff, which grows. Beside it, while the API server fails, one write is tried each
// interval, of those that failed the one whose last try was longest ago. As soon as the API server answers, to that or
// to any other write, all that failed because of it are tried again, once: what fails again though others are answered
// has a trouble of its own, and is left to its backoff.
//
// Programs that lost the same API server must not come back at one instant: their intervals are jittered, and what
// they try then is bounded by their workers and by the rate limit of their client.
//
// There is no lock and no clock in it, and it calls nobody.
package outage
