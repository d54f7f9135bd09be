//go:build go1.24

package keyindex

import "hash/maphash"

var seed = maphash.MakeSeed()

// hash hashes a key. It panics if the key cannot be hashed.
func hash[K comparable](key K) uint32 { return uint32(maphash.Comparable(seed, key)) }
