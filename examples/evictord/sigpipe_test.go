package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestADeadReaderOfTheLogEndsNothing: the program comes to its own end, although nobody can read its log. Without that, a
// leader would not release its lease.
func TestADeadReaderOfTheLogEndsNothing(t *testing.T) {
	const unread = "EVICTORD_UNREAD"
	if os.Getenv(unread) != "" {
		os.Args = []string{"evictord", "--kubeconfig=/no/such"}
		main()
		return
	}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env, command.Stderr = append(os.Environ(), unread+"=1"), write
	var ended *exec.ExitError
	require.ErrorAs(t, command.Run(), &ended)
	require.NoError(t, write.Close())
	require.Equal(t, 1, ended.ExitCode(), ended)
}
