// Package frontend shows a simulated cluster to client-go, so that upstream's controllers can be driven by the
// same simulation that drives ours: the same kubelets, the same events, the same order within an instant.
//
// A Server is an API server as far as those controllers need one. Lists and watches show the cluster; writes
// go to the cluster through the simulator's Writer, which makes a line of the timeline of each. Play runs a
// scenario with it in a testing/synctest bubble, where the controllers' own timers run in virtual time.
//
// It uses only what client-go has had since 0.18, because both oracles are built with it, each with the
// client-go that its Kubernetes pins.
package frontend
