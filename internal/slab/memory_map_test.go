//go:build !go1.24

package slab_test

// A map of Go before 1.24 allocates its room anew each time that it doubles.
const bytesAllocated = uint64(300)
