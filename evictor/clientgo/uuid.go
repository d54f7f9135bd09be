package clientgo

import (
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// uuid is a UID as API servers make them, in less than half of the bytes.
type uuid [16]byte

// uuidOf parses a UID. ok is false unless String would return exactly the same text.
func uuidOf(uid types.UID) (u uuid, ok bool) {
	if len(uid) != uuidLength {
		return u, false
	}
	digits := 0
	for i := range len(uid) {
		c := uid[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return u, false
			}
			continue
		}
		digit := strings.IndexByte("0123456789abcdef", c)
		if digit < 0 {
			return u, false
		}
		u[digits/2] |= byte(digit) << (4 * (1 - digits%2)) //nolint:gosec // below 16
		digits++
	}
	return u, true
}

const uuidLength = 36

// String returns the UID.
func (u uuid) String() string {
	var text [uuidLength]byte
	at := 0
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		from := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			text[at] = '-'
			at++
		}
		at += hex.Encode(text[at:], u[from:end])
	}
	return string(text[:])
}
