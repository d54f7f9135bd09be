package final

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFinal(t *testing.T) {
	require.NoError(t, Mark(nil))
	require.False(t, Is(nil))
	gone := errors.New("gone")
	require.False(t, Is(gone))
	require.True(t, Is(fmt.Errorf("node a: %w", Mark(gone))))
	require.ErrorIs(t, Mark(gone), gone)
	require.EqualError(t, Mark(gone), "gone")
}
