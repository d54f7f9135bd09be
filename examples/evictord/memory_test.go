package main

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// percentage returns the current GC percentage.
func percentage() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// TestAStartIsSparing, and later frees memory once. If GOGC is set, it decides.
func TestAStartIsSparing(t *testing.T) {
	t.Setenv("GOGC", "")
	require.NoError(t, os.Unsetenv("GOGC"))
	before := percentage()
	defer debug.SetGCPercent(before)
	started := sparing()
	require.Equal(t, gcWhileStarting, percentage())
	started()
	require.Equal(t, gcAfterwards, percentage())
	debug.SetGCPercent(before + 7)
	started()
	require.Equal(t, before+7, percentage(), "it is over")

	t.Setenv("GOGC", "100")
	sparing()()
	require.Equal(t, before+7, percentage())
}
