// Package peers has no code. Its packages compare other projects' own code with package budget:
//
//   - karpenter and clusterapi play random clusters on both.
//   - descheduler asks both for the same random evictions.
//   - ports/karpenter runs Karpenter's controller on our packages, tested by its own suite.
//
// It is a separate module because the three are made for Kubernetes 1.36, and Karpenter requires its own patch release
// of Go, which GOTOOLCHAIN=auto fetches.
package peers
