//go:build !go1.24

package keyindex

import (
	"hash/maphash"
	"unsafe"
)

// Go 1.23 has no maphash.Comparable. Its maps hash any comparable key with a function that is in their type, which is also
// where maphash.Comparable gets it from. Later Go versions do not use this file, so the layout cannot change under it.

var seed = uintptr(maphash.Bytes(maphash.MakeSeed(), nil))

// mapType is the layout of a map type in Go 1.23: internal/abi.MapType up to its hash function.
type mapType struct {
	_ struct {
		_, _ uintptr
		_    uint32
		_    [4]uint8
		_, _ unsafe.Pointer
		_, _ int32
	}
	_, _, _ unsafe.Pointer
	hash    func(key unsafe.Pointer, seed uintptr) uintptr
}

// hash hashes a key. It panics if the key cannot be hashed.
func hash[K comparable](key K) uint32 {
	var m any = map[K]struct{}(nil)
	kind := *(**mapType)(unsafe.Pointer(&m)) // an interface value begins with the type that it holds
	return uint32(kind.hash(unseen(unsafe.Pointer(&key)), seed))
}

// unseen hides a pointer from escape analysis. The compiler cannot know that the hash function does not keep the
// pointer, and would allocate every key that is hashed.
func unseen(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
