package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of each two pods one leaves, and the other as soon as a node is added. Maintenance waits for two o'clock.
func TestAPodLeavesOnceThereIsRoomAndTheHourPermits(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, play(&out))
	require.Equal(t, ``, out.String())
}
