// Package karpenter plays random clusters on Karpenter's own repair controller, with its own fakes, and on a
// lasting.Durations with a budget.Budget. It compares which nodes are repaired, and when waiting ones may be.
//
// This is Karpenter's legacy repair, which decides by itself. Its newer repair asks the same breaker, only for pools,
// and then its scheduler. A table test in package budget has those rules.
package karpenter
