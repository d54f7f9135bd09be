package slim

import (
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// uuid is a UID as API servers make them, in less than half of the bytes.
type uuid [16]byte

// uuidParts are the parts between the hyphens of a UID: which bytes they are, and where in the text.
var uuidParts = [...]struct{ from, to, at int }{{0, 4, 0}, {4, 6, 9}, {6, 8, 14}, {8, 10, 19}, {10, 16, 24}}

const uuidLength = 36

// uuidOf parses a UID. ok is false unless String would return exactly the same text.
func uuidOf(uid types.UID) (u uuid, ok bool) {
	if len(uid) != uuidLength {
		return u, false
	}
	for _, p := range uuidParts {
		_, _ = hex.Decode(u[p.from:p.to], []byte(uid[p.at:p.at+2*(p.to-p.from)])) // what is wrong differs below
	}
	return u, u.String() == string(uid)
}

// String returns the UID.
func (u uuid) String() string {
	var text [uuidLength]byte
	for i, p := range uuidParts {
		if i > 0 {
			text[p.at-1] = '-'
		}
		hex.Encode(text[p.at:], u[p.from:p.to])
	}
	return string(text[:])
}
