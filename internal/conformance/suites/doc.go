// Package suites plays Kubernetes' own tests on evictkit: the integration tests of its two controllers on our ports of
// them and on the evictor with clientgo (package stack), the end-to-end tests of NoExecute taints on evictord, those of
// evictions on clientgo's writer, and unit tests that neither parts nor ports play.
//
// No line of theirs is here. Their files are read from the module cache, a few names are replaced, and they are built
// as an overlay. What they call is in package stack and in testdata. exceptions.md says what passes, and what is
// changed, left out or fails, each with its reason; a test fails if that is not so.
package suites
