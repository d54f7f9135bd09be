package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// At most a quarter of all GPUs is out: two hosts of eight, one of each rack in turn, and each gets its notice.
func TestAQuarterOfAllGPUsIsOutAtMost(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, play(&out))
	require.Equal(t, `12:00 r1-gpu0 cordoned; its jobs have ten minutes
12:00 r2-gpu0 cordoned; its jobs have ten minutes
12:10 r1-gpu0 empty; updating
12:10 r2-gpu0 empty; updating
12:15 r1-gpu0 is back
12:15 r2-gpu0 is back
12:15 r1-gpu1 cordoned; its jobs have ten minutes
12:15 r2-gpu1 cordoned; its jobs have ten minutes
12:25 r1-gpu1 empty; updating
12:25 r2-gpu1 empty; updating
12:30 r1-gpu1 is back
12:30 r2-gpu1 is back
12:30 r1-gpu2 cordoned; its jobs have ten minutes
12:30 r2-gpu2 cordoned; its jobs have ten minutes
12:40 r1-gpu2 empty; updating
12:40 r2-gpu2 empty; updating
12:45 r1-gpu2 is back
12:45 r2-gpu2 is back
12:45 r1-gpu3 cordoned; its jobs have ten minutes
12:45 r2-gpu3 cordoned; its jobs have ten minutes
12:55 r1-gpu3 empty; updating
12:55 r2-gpu3 empty; updating
13:00 r1-gpu3 is back
13:00 r2-gpu3 is back
`, out.String())
}
