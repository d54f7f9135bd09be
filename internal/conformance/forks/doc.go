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
// overlay and from a go.mod elsewhere. A project whose variable is not set is skipped. Dependencies come from the
// checkout's folder vendor if it has one, else from the module cache or the module proxy. The first build takes minutes
// and gigabytes.
//
// Each project has one test. It names the declarations that go; our code that comes is in the test and in testdata. No
// text of theirs is here. So a swap works on every commit that has these names; the test says which name is missing. A
// test of theirs that passed before must pass afterwards, unless our test leaves it out and says why. In a clone at the
// commit above the figures must be those in MIGRATING.md. With -v the test prints the swap as a diff.
//
// Files of testdata whose names end with _test.go are ours. They run before and after, and what they log as "MEASURED
// what: figure" is in MIGRATING.md, too.
package forks
