// Package forks swaps code of other projects for ours, in a checkout of theirs, and runs their own tests before and after.
//
//	EVICTKIT_KARMADA=/src/karmada go test -C internal/conformance/forks -v
//
//	variable            project                          the figures are of commit
//	EVICTKIT_KARMADA    github.com/karmada-io/karmada    f8fdd02df376
//
// A variable names a checkout, or a copy of the module from the module cache. It is only read: Go builds the swap from an
// overlay and from a go.mod beside it. A project whose variable is not set is skipped. Their dependencies come from the
// module cache or the module proxy; the first build takes minutes.
//
// Each project has one test. It names the declarations that go, and our code that comes: files in testdata, and lines in
// the test. No text of theirs is here, so on another commit a swap still works as long as these names are there. A test
// fails if one of theirs passed before and does not afterwards, except those that it lists with a reason. On the commit
// above it also compares the figures with the table in MIGRATING.md. With -v it prints the whole swap as a diff.
//
// Files of testdata whose names end with _test.go are ours and run before and after. What they log as "MEASURED what:
// figure" is compared, too.
package forks
