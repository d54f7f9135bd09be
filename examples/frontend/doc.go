// Package frontend shows a simulated cluster to client-go, so that the simulation can drive upstream's controllers as
// it drives our evictor: with the same kubelets, the same events, and the same order within an instant.
//
// A Server is as much of an API server as those controllers need. Lists and watches show the cluster. Writes go to the
// world's clients, which write a line of the timeline for each. Main plays a scenario with it in a testing/synctest
// bubble, where the controllers' own timers run in virtual time. Others may play more of Kubernetes in the same bubble.
//
// It uses only what client-go has had since 0.18, because two oracles use it, each with the client-go of its
// Kubernetes.
package frontend
