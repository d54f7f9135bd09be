//go:build go1.24

package slab_test

const bytesAllocated = uint64(170)
