// Package keyindex numbers keys: each key gets a small number for as long as it is in the index, and
// the numbers of removed keys are used again. What belongs to a key is kept by the caller in slices
// indexed by that number. An operation hashes its key once. It is not safe for concurrent use.
package keyindex
