package faults

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// Each fault applies to the code as it is now, and what it makes compiles.
func TestFaultsApply(t *testing.T) {
	overlay, err := Overlay(root, t.TempDir())
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", root, "-overlay", overlay, "./zone", "./health", "./taints", "./ratelimitqueue", "./evictor").CombinedOutput() //nolint:gosec // the go command
	require.NoError(t, err, string(out))
}

func TestFaultsHaveNames(t *testing.T) {
	names := map[string]bool{}
	for _, f := range All {
		require.False(t, names[f.Name], f.Name)
		names[f.Name] = true
	}
}
