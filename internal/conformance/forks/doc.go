// Package forks swaps code of other projects for ours, in a checkout of theirs, and runs their own tests before and
// after.
//
//	EVICTKIT_KARMADA=/src/karmada go test -C internal/conformance/forks -v
//
//	variable             a checkout of                         the figures are of commit
//	EVICTKIT_KARMADA     github.com/karmada-io/karmada         f8fdd02df376
//	EVICTKIT_KUEUE       sigs.k8s.io/kueue                     ff69552e79ad
//	EVICTKIT_OPENYURT    github.com/openyurtio/openyurt        fbefb6baca66
//	EVICTKIT_KATALYST    github.com/kubewharf/katalyst-core    d8c28ea1549b
//
// A checkout is a clone, or a copy of the module from the module cache. It is only read: Go builds the swap from an
// overlay and from a go.mod elsewhere. A project whose variable is not set is skipped. Its dependencies come from its
// folder vendor, or else from the module cache or the module proxy. The first build takes minutes and gigabytes.
//
// Each project has one test. It names the declarations that go, and our code that comes: lines in the test and files in
// testdata. No text of theirs is here. So a swap works on another commit as long as these names are there; if one is
// not, the test says which. It fails if a test of theirs passed before and does not afterwards, except those that it
// leaves out and says why. On the commit above the figures must be those in MIGRATING.md. With -v it prints the swap as
// a diff.
//
// Files of testdata whose names end with _test.go are ours. They run before and after, and what they log as "MEASURED
// what: figure" is in MIGRATING.md, too.
package forks
