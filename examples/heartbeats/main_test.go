package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A downtime makes no device silent. The ten that were silent before it are found after it, once their time is used up,
// and no others.
func TestADowntimeCondemnsNobody(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, play(&out))
	require.Equal(t, `12:06:00 stopped; 10000 devices saved
12:16:00 started again
12:16:07 4 silent, the first is device 7
12:16:17 3 silent, the first is device 1007
12:16:27 3 silent, the first is device 2007
12:21:07 device 7 is back
`, out.String())
}
