package main

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// percentage is the one in force.
func percentage() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// TestAStartIsSparing and gives back what it took, once. Whoever sets GOGC has chosen.
func TestAStartIsSparing(t *testing.T) {
	t.Setenv("GOGC", "")
	require.NoError(t, os.Unsetenv("GOGC"))
	before := percentage()
	started := sparing()
	require.Equal(t, gcWhileStarting, percentage())
	started()
	require.Equal(t, before, percentage())
	debug.SetGCPercent(before + 7)
	started()
	require.Equal(t, before+7, percentage(), "it is over")
	debug.SetGCPercent(before)

	t.Setenv("GOGC", "100")
	sparing()()
	require.Equal(t, before, percentage())
}
