// Package karpenter is a port: in Karpenter's legacy repair controller, budget.Budget and lasting.Durations replace its
// breaker and its durations. Its own test suite passes.
//
// controller.port names the lines to remove and contains ours. Karpenter's own lines are in the module cache, and the
// files that are built exist only while the test runs.
package karpenter
