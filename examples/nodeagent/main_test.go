package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// The search pod goes first, because it uses more than it requested, and the batch pod once it does too. The database
// stays.
func TestWhatExceedsItsRequestGoes(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, play(&out))
	require.Equal(t, `12:00:00 conditions []
12:03:00 conditions [MemoryPressure]
12:03:00 kill search: memory.available
12:08:01 conditions []
12:09:31 conditions [MemoryPressure]
12:09:31 kill batch: memory.available
12:14:32 conditions []
`, out.String())
}
